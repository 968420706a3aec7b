// Runs a grid of thread blocks on the CPU: the threads of a block as fibers on one OS thread,
// blocks side by side on all cores. Every launch() of a kernel compiled for the CPU ends here.
#pragma once

#include <cstdint>
#include <functional>

#include "model/gpus.h"

namespace simt {

struct Extent {
  unsigned x, y, z;
  std::int64_t volume() const { return std::int64_t{x} * y * z; }
};

enum class Blocks { kAll, kSample, kAllButSample };

// What the launches made by `host` run on.
struct Machine {
  const Gpu* gpu;  // whose limits a launch must keep
  Blocks blocks = Blocks::kAll;
  bool hazards = true;                              // look for them where blocks are traced
  std::function<void(std::int64_t)> progress = {};  // told of finished blocks; may be empty
};

// Runs `host`; every launch that it makes runs the chosen blocks. Throws Refusal, in one sentence,
// where the GPU would refuse the launch.
void run(const Machine& machine, const std::function<void()>& host);

// What launch() calls: `thread(context)`, which calls `kernel`, once for every thread of the chosen
// blocks. `shared_bytes` is dynamic shared memory.
void run_grid(const void* kernel, Extent grid, Extent block, int shared_bytes,
              void (*thread)(void*), void* context);

// What a kernel calls, on its fiber.
void block_barrier();
void warp_barrier();

}  // namespace simt
