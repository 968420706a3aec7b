// How many blocks of a kernel an SM holds at once, and what limits this number.
#pragma once

#include <string_view>

#include "model/gpus.h"

namespace model {

struct KernelResources {
  int threads_per_block;
  int registers_per_thread;
  int smem_bytes_per_block;  // static and dynamic together
};

struct Occupancy {
  KernelResources resources;
  int warps_per_block;
  int blocks_by_threads;  // blocks that each limit alone would allow
  int blocks_by_blocks;
  int blocks_by_smem;        // INT_MAX if the kernel uses none
  int blocks_by_registers;   // INT_MAX if the kernel uses none
  int blocks_per_sm;         // the least of the four; 0 if the GPU cannot run such a block
  std::string_view limiter;  // "threads", "blocks", "shared memory" or "registers"; if equal,
                             // the first in this order
  double percent;            // resident warps / warps that the SM can hold, times 100
};

// Blocks per SM as NVIDIA's cuda_occupancy.h computes them at the largest shared-memory carve-out,
// for a kernel that has opted in to the shared memory it uses. `threads` of a block: 1 to 1024; for
// other values no block fits.
Occupancy occupancy(const Gpu& gpu, const KernelResources& kernel);

// How many times `blocks` blocks fill the GPU: 8.33 is eight full waves and a third. Infinite if
// not one block fits.
double waves(const Gpu& gpu, const Occupancy& occupancy, long long blocks);

}  // namespace model
