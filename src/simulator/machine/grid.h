// Runs a grid of thread blocks on the CPU. The threads of a block are fibers on one thread of the
// operating system, and blocks run in parallel on all cores. Every launch() of a kernel compiled
// for the CPU ends here.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/gpus.h"
#include "model/recording.h"
#include "model/refusal.h"
#include "model/warp_access.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/fault.h"

namespace machine {

using simt::Extent;

// A launch, as requested.
struct RequestedLaunch {
  const void* kernel;
  Extent grid, block;
  int static_shared_bytes, dynamic_shared_bytes;
};

// The bytes from `begin` to an address; very many if it is before that.
inline std::size_t offset_from(const void* begin, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(begin);
}

// A matrix. A kernel's accesses to it are counted as global memory.
struct GlobalArray {
  const char* name;
  const void* data;
  std::size_t bytes;
  bool result = false;       // it is a hazard if two threads write the same element,
  bool all_written = false;  // or if no thread writes an element
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

// The processor time that this process has used, with all its threads. A limit on it does not
// depend on how busy the machine is.
inline double used_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The environment of the launches that `host` makes.
struct Machine {
  const model::Gpu* gpu;  // the GPU whose limits a launch must keep
  Blocks blocks = Blocks::kAll;
  bool hazards = true;                              // whether to look for hazards in traced blocks
  std::function<void(std::int64_t)> progress = {};  // called after finished blocks; may be empty
  // Called after every launch with the counts of its traced blocks; may be empty.
  std::function<void(const RequestedLaunch&, const model::Counts&)> launched = {};
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
  // Which blocks Blocks::kSample runs; empty: those of machine/grid.h. If blocks hand data
  // to one another, the sample must contain all that work together, and blocks run in order, so
  // that the counts do not depend on which block comes last.
  SampleOf sample = {};
  OrderOf order = {};  // for Blocks::kAll; empty: the grid's order
  // Without an observer, no more blocks begin once used_s() is above this, unless one waits for
  // them.
  std::optional<double> no_blocks_after = {};
  // With an observer, blocks are then cut short at their next barrier or exchange.
  std::optional<double> cut_blocks_after = {};
  // The kernels come from a rewritten file: other variables than the device's are the host's.
  bool host_variables = false;
  bool own_variables = true;  // the program has __device__ variables, to which a kernel may store
  bool traces_aside = false;  // also trace and count launches beside those that are studied
  std::span<const GlobalArray> arrays = {};  // for run(): used to name what an access missed
};

// Runs `host`; every launch that it makes runs the chosen blocks. Throws a Refusal, in one
// sentence, if the GPU would refuse the launch, and a KernelFault for the first block, in the
// grid's order, that fails. An access that the system stops ends its block, and is returned.
std::vector<model::Hazard> run(const Machine& machine, const std::function<void()>& host);

// For host code that run() calls, and for a whole program (machine/grid.h). The GPU whose limits
// its launches must keep; null outside of them.
const model::Gpu* current_gpu();
// The array of the current run, or of the program, that contains this address; null: none does.
const GlobalArray* current_array_at(const void* address);

// The blocks that represent a grid when not all of it is traced.

// Linear indices, in order: the first block, the middle one, and the last of a row, of a column and
// of the grid, where the edges of C are. For a small grid the sample is the whole grid.
std::vector<std::int64_t> sample_of(simt::Extent grid);

// The limits for which a GPU would refuse a launch.

inline constexpr int kMostThreadsInBlock = 1024;

// The GPU would refuse the launch, in one sentence, and with this cudaError_t.
struct LaunchRefusal : model::Refusal {
  LaunchRefusal(const std::string& sentence, int error_) : Refusal(sentence), error(error_) {}
  int error;
};

// Throws a LaunchRefusal.
void require_launchable(const model::Gpu& gpu, const RequestedLaunch& launch);

// The threads of the operating system that run blocks, as seen by code outside of the machine.
// Signal handlers may call all of these functions.

bool in_kernel();           // whether this thread of the operating system runs a kernel's thread
const char* kernel_name();  // of the current launch; empty if there is none
std::optional<pthread_t> runner_of_first_block();  // of the running blocks, the first in the grid

// The next traced thread of that block whose turn ends calls `what` before it.
void call_at_end_of_turn(void (*what)());

// For the code that runs blocks.
void at_end_of_turn();

// The lanes of the running thread's warp come here before any of them goes on, unless they are
// elsewhere: code from before Volta relies on that at volatile accesses, and lines that a warp
// prints come in that order.
void keep_step();
// Whether a thread came to a volatile access since this was last set to false.
extern std::atomic<bool> came_to_volatile;
void name_kernel(const std::string& name);  // truncated if too long
// This thread of the operating system, OpenMP's number `number`, now runs that block; -1: none.
void runs_block(int number, std::int64_t block);

// A whole program that runs on the CPU: its own main makes launches, outside of run() and trace().

struct ProgramLaunch {
  const void* kernel;
  Extent grid, block;
  std::size_t shared_bytes;
  void (*thread)(void*);  // thread(context) runs one thread
  void* context;
  std::size_t context_bytes;          // of it that the threads read
  std::vector<const void*> pointers;  // among the kernel's arguments
};

// Handles such launches; null while no program runs.
class ProgramLaunches {
 public:
  virtual ~ProgramLaunches() = default;
  virtual void launch(const ProgramLaunch& launch) = 0;
  virtual const model::Gpu* gpu() const = 0;
  // Whether the program is short of time. Then work that only its results need is left out, with a
  // note. Several threads may call this.
  virtual bool is_late() const = 0;
  virtual void note_lateness() = 0;
  // Whether a launch was refused, so that its results are missing.
  virtual bool any_refused() const { return false; }
  // The matrices that the program is given.
  virtual std::span<const GlobalArray> arrays() const { return {}; }
};
extern ProgramLaunches* program_launches;

// The pointers that simt::know_elements got for the next launch.
std::vector<const void*> take_pointers();

// The kernels that simt::traced_kernel() replaces, and their replacements.
struct TracedKernel {
  const void* plain = nullptr;
  const void* traced = nullptr;
};
extern TracedKernel traced_kernel;

// The kernel that thread(context) calls first; null if it calls none of a rewritten file.
const void* kernel_called_by(void (*thread)(void*), void* context);

// The program's __device__, __managed__ and __constant__ variables, as its objects register them.
struct DeviceVariable {
  std::string name;
  const void* data;
  std::size_t bytes;
  simt::VariableKind kind;
  std::size_t element;  // bytes of one, if it is an array
};
const std::vector<DeviceVariable>& device_variables();

}  // namespace machine
