// Runs a grid of thread blocks on the CPU. The threads of a block are fibers on one thread of the
// operating system, and blocks run in parallel on all cores. Every launch() of a kernel compiled
// for the CPU ends here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cuda/runtime.h"
#include "machine/fault.h"
#include "machine/runners.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/recording.h"

namespace machine {

using simt::Extent;

// A launch, as requested.
struct Launch {
  const void* kernel;
  Extent grid, block;
  int static_shared_bytes, dynamic_shared_bytes;
};

// A matrix. A kernel's accesses to it are counted as global memory.
struct GlobalArray {
  const char* name;
  const void* data;
  std::size_t bytes;
  bool result = false;       // it is a hazard if two threads write the same element,
  bool all_written = false;  // or if no thread writes an element
  bool own_pages = true;     // nothing else lies in its pages, so that an audit may protect them
};

// Bytes of global memory that a launch's traced blocks, or a copy, used in one way.
struct Touched {
  std::uintptr_t begin, end;
  bool stores, atomic = false;
};

enum class Blocks { kAll, kFirst, kSample, kAllButSample };

// Blocks of a grid, in ascending order.
using SampleOf = std::function<std::vector<std::int64_t>(Extent grid)>;

// All blocks of a grid, each once, in the order in which they start.
using OrderOf = std::function<std::vector<std::int64_t>(Extent grid)>;

// The environment of the launches that `host` makes.
struct Machine {
  const model::Gpu* gpu;  // the GPU whose limits a launch must keep
  Blocks blocks = Blocks::kAll;
  bool hazards = true;                              // whether to look for hazards in traced blocks
  std::function<void(std::int64_t)> progress = {};  // called after finished blocks; may be empty
  // Called after every launch with the counts of its traced blocks; may be empty.
  std::function<void(const Launch&, const model::Counts&)> launched = {};
  // If hazards are looked for, receives for each word of the result array the thread of the launch
  // that wrote it last: counted from 1 through all blocks; 0 is none. May be empty.
  std::function<void(std::span<const std::uint64_t>)> wrote = {};
  // The same for what the traced blocks used of memory from cudaMalloc and of device variables.
  std::function<void(std::vector<Touched>)> touched = {};
  // Records chosen blocks while they are traced; may be null. With a recorder, blocks run one after
  // the other, in the grid's order.
  model::Recorder* recorder = nullptr;
  // Audits the first block of each launch while blocks are traced; may be null. Blocks then run in
  // order, as with a recorder.
  model::Audit* audit = nullptr;
  // Which blocks Blocks::kSample runs; empty: those of machine/block_sample.h. If blocks hand data
  // to one another, the sample must contain all that work together, and blocks run in order, so
  // that the counts do not depend on who comes last.
  SampleOf sample = {};
  OrderOf order = {};  // for Blocks::kAll; empty: the grid's order
  // Without an observer, no more blocks begin after this time, unless one waits for them.
  std::optional<std::chrono::steady_clock::time_point> no_blocks_after = {};
  // With an observer, blocks are cut short at their next barrier or exchange after this time.
  std::optional<std::chrono::steady_clock::time_point> cut_blocks_after = {};
  // The kernels come from a rewritten file: other variables than the device's are the host's.
  bool host_variables = false;
  bool own_variables = true;  // the program has __device__ variables, to which a kernel may store
  std::span<const GlobalArray> arrays = {};  // for run(): used to name what an access missed
};

// Runs `host`; every launch that it makes runs the chosen blocks. Throws a Refusal, in one
// sentence, if the GPU would refuse the launch, and a KernelFault for the first block, in the
// grid's order, that fails. An access that the system stops ends its block, and is returned.
std::vector<model::Hazard> run(const Machine& machine, const std::function<void()>& host);

// For host code that run() calls, and for a whole program (machine/program.h). The GPU whose limits
// its launches must keep; null outside of them.
const model::Gpu* current_gpu();
// The array of the current run that contains this address; null if there is none.
const GlobalArray* current_array_at(const void* address);

}  // namespace machine
