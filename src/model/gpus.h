// The GPUs whose occupancy and limits the program knows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/warp_geometry.h"

namespace model {

struct Gpu {
  std::string name;
  int compute_capability;  // 86 is cc 8.6
  int sms;                 // streaming multiprocessors
  int fp32_lanes_per_sm;
  double boost_ghz;  // 0: it has no clock, see below
  double dram_gb_per_s;
  int smem_bytes_per_sm;              // at the largest carve-out
  int smem_bytes_per_block;           // the most that one block may opt in to
  int smem_reserved_bytes_per_block;  // reserved by the system, from cc 8.0 on
  int smem_granularity_bytes;
  int threads_per_sm;
  int blocks_per_sm;
  int registers_per_sm;            // 32-bit
  int register_granularity = 256;  // a warp gets registers in units of this many
  int sub_partitions_per_sm = 4;   // a warp belongs to one, which has its share of the registers
  double l2_bytes_per_clock = 0;   // that all SMs together can read; 0: unknown, see below
  // Dense products on the tensor cores at the boost clock, accumulated in fp32; 0: it has none.
  double tf32_tflops = 0;
  double bf16_tflops = 0;
  // What mma.sync can reach of these rates; a warpgroup's wgmma (cc 9.0) reaches all of them.
  double mma_share = 1;
  double l2_mib = 0;      // size of the L2 cache; 0: unknown
  int dram_gib = 0;       // memory; 0: it has none, like the paper GPU
  int dram_bus_bits = 0;  // its width
  WarpGeometry warp{};
};

// The paper GPU has no clock: kernels on it are counted, and have neither a time nor a ceiling.
inline bool has_clock(const Gpu& gpu) {
  return gpu.boost_ghz > 0;
}

// What an SM can read from the L2 cache per cycle, since cc 7.0 (Jia et al., Dissecting the NVIDIA
// Volta GPU Architecture via Microbenchmarking, 2018, table 3.1). A single busy SM of an H200 reads
// 61.
inline constexpr double l2_bytes_per_sm_clock = 64;

// What an SM reads from its L1 cache or from shared memory per cycle: a line, 32 banks of 4 bytes
// (same source). On an H200 the naive kernel, which does little else, sustains this in 98 % of the
// cycles.
inline constexpr double l1_bytes_per_sm_clock = 128;

// What all SMs together can read from the L2 cache per cycle. If that is unknown, the sum of what
// the SMs can read.
double l2_bytes_per_clock(const Gpu& gpu);

// Every GPU of the table, oldest first, and the paper GPU at the end.
std::span<const Gpu> known_gpus();

// The GPU with this name, or the only one whose name begins with these words, ignoring case, spaces
// and dashes ("rtx3090" is "RTX 3090", "a100" is "A100 SXM 80GB"); null if there is none.
const Gpu* find_gpu(std::string_view name);

}  // namespace model
