// Runs a grid of thread blocks on the CPU: the threads of a block as fibers on one OS thread,
// blocks side by side on all cores. Every launch() of a kernel compiled for the CPU ends here.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cuda/runtime.h"
#include "machine/fault.h"
#include "machine/runners.h"
#include "model/audit.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/recorder.h"

namespace machine {

using simt::Extent;

// A launch, as it was asked for.
struct Launch {
  const void* kernel;
  Extent grid, block;
  int static_shared_bytes, dynamic_shared_bytes;
};

// A matrix. What a kernel does in it is counted as global memory.
struct GlobalArray {
  const char* name;
  const void* data;
  std::size_t bytes;
  bool result = false;       // two threads that write the same element of it are a hazard,
  bool all_written = false;  // and so is an element that none writes
};

enum class Blocks { kAll, kFirst, kSample, kAllButSample };

// What the launches made by `host` run on.
struct Machine {
  const model::Gpu* gpu;  // whose limits a launch must keep
  Blocks blocks = Blocks::kAll;
  bool hazards = true;                              // look for them where blocks are traced
  std::function<void(std::int64_t)> progress = {};  // told of finished blocks; may be empty
  // Told of every launch when it is over, with what its traced blocks did; may be empty.
  std::function<void(const Launch&, const model::Counts&)> launched = {};
  // Told, where hazards are looked for, which thread of the launch wrote which word of the result
  // array last: counted from 1 through all blocks; 0 is nobody. May be empty.
  std::function<void(std::span<const std::uint64_t>)> wrote = {};
  // Records chosen blocks where they are traced; may be null. Blocks then run one after the other,
  // in the grid's order.
  model::Recorder* recorder = nullptr;
  // Audits the first block of each launch where blocks are traced; may be null. Blocks then run as
  // when they are recorded.
  model::Audit* audit = nullptr;
  bool own_variables = true;  // __device__ variables are there, which a kernel may store to
  std::span<const GlobalArray> arrays = {};  // for run(): to tell what was missed by an access
};

// Runs `host`; every launch that it makes runs the chosen blocks. Throws Refusal, in one sentence,
// where the GPU would refuse the launch, and KernelFault for the first block, in the grid's order,
// that goes wrong. An access that the system stops makes its block be abandoned, and is returned.
std::vector<model::Hazard> run(const Machine& machine, const std::function<void()>& host);

}  // namespace machine
