// How many blocks of a kernel an SM holds at once, and what stops it from holding more.
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
  int blocks_by_threads;  // what each limit alone would allow
  int blocks_by_blocks;
  int blocks_by_smem;        // INT_MAX where the kernel uses none
  int blocks_by_registers;   // INT_MAX where the kernel uses none
  int blocks_per_sm;         // the least of the four; 0 where the GPU cannot run such a block
  std::string_view limiter;  // "threads", "blocks", "shared memory" or "registers"; of equal
                             // limits the first in this order
  double percent;            // warps resident / warps the SM can hold, times 100
};

// Blocks per SM as NVIDIA's cuda_occupancy.h computes them at the largest shared-memory carve-out,
// where the kernel has opted in to the shared memory it uses. Threads of a block: 1 to 1024, else
// no block fits.
Occupancy occupancy(const Gpu& gpu, const KernelResources& kernel);

// How many times the GPU must be filled to run `blocks` blocks: 8.33 is eight full waves and a
// third. Infinite where not one block fits.
double waves(const Gpu& gpu, const Occupancy& occupancy, long long blocks);

}  // namespace model
