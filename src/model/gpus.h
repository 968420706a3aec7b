// GPUs: those whose limits the program knows, how many blocks an SM of theirs holds, and what their
// sensors say.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/warp_access.h"

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
  // Dense tf32 products that an SM's tensor cores multiply and add in fp32 per cycle, and half of
  // its bf16 products; 0: it has none. peak_tflops() in ceiling.h has the rate at the boost clock.
  int tf32_products_per_clock = 0;
  // What mma.sync can reach of this rate; a warpgroup's wgmma (cc 9.0) reaches all of it.
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

// A line of L1, and a wavefront of shared memory: 32 banks of 4 bytes.
inline constexpr double kWavefrontBytes = 128;

// What an SM reads from its L1 cache or from shared memory per cycle: a line or a wavefront (same
// source). On an H200 the naive kernel, which does little else, sustains this in 98 % of the
// cycles. Only Turing needs two cycles (NVIDIA's GA102 whitepaper: 64 bytes per cycle, and 128 in
// Ampere; Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking, 2019).
inline double l1_bytes_per_clock(const Gpu& gpu) {
  return gpu.compute_capability == 75 ? 64 : kWavefrontBytes;
}

// What all SMs together can read from the L2 cache per cycle. If that is unknown, the sum of what
// the SMs can read.
double l2_bytes_per_clock(const Gpu& gpu);

// Every GPU of the table, oldest first, and the paper GPU at the end.
std::span<const Gpu> known_gpus();

// The GPU with this name, or the only one whose name begins with these words, ignoring case, spaces
// and dashes ("rtx3090" is "RTX 3090", "a100" is "A100 SXM4 80GB"); null if there is none.
const Gpu* find_gpu(std::string_view name);

// How many blocks of a kernel an SM holds at once, and what limits this number.

struct KernelResources {
  int threads_per_block;
  int registers_per_thread;
  int smem_bytes_per_block;  // static and dynamic together
};

struct Occupancy {
  KernelResources resources;
  int warps_per_block;
  int smem_bytes_taken;   // by a block, and what each gets beside its own; 0 if it uses none
  int registers_taken;    // by a warp; 0 if they are not known
  int blocks_by_threads;  // blocks that each limit alone would allow
  int blocks_by_blocks;
  int blocks_by_smem;        // INT_MAX if the kernel uses none
  int blocks_by_registers;   // INT_MAX if the kernel uses none
  int blocks_per_sm;         // the least of the four; 0 if the GPU cannot run such a block
  std::string_view limiter;  // "threads", "blocks", "shared memory" or "registers"; if equal,
                             // the first in this order
  double percent;            // resident warps / warps that the SM can hold, times 100
  // The share of `warps` of each block in it.
  double percent_of(int warps) const { return percent * warps / warps_per_block; }
};

// Blocks per SM as NVIDIA's cuda_occupancy.h computes them at the largest shared-memory carve-out,
// for a kernel that has opted in to the shared memory it uses. `threads` of a block: 1 to 1024; for
// other values no block fits.
Occupancy occupancy(const Gpu& gpu, const KernelResources& kernel);

// How many times `blocks` blocks fill the GPU: 8.33 is eight full waves and a third. Infinite if
// not one block fits.
double waves(const Gpu& gpu, const Occupancy& occupancy, long long blocks);

// The readings of a GPU's sensors while kernels ran: clock, power, and whether the GPU was
// throttled.

// One reading of the sensors. Empty: this GPU or driver does not report it.
struct Reading {
  std::optional<double> sm_mhz, watts, celsius;
  std::optional<std::uint64_t> clock_reasons;  // NVML's bits: why the clock is not higher
};

// A reason for which the GPU lowered its clock, and how many readings gave it.
struct Throttle {
  std::string_view reason;  // "the power limit"
  int readings;
};

struct DeviceState {
  int readings = 0;
  double measured_ms = 0;  // how long they were taken
  std::optional<double> median_mhz, min_mhz, max_mhz;
  // The SM's own cycles per time while the launches followed each other without a pause; of several
  // measurements the lowest. The power limit can lower it for times too short for the sensor.
  std::optional<double> counted_mhz = {};
  std::optional<double> mean_watts, max_watts, limit_watts;
  bool watts_are_averages = false;  // over up to kPowerAverageMs: the sensor gives nothing shorter
  std::optional<double> max_celsius;
  std::optional<std::vector<Throttle>> throttles;  // none: it was not throttled; empty: not known
};

inline constexpr double kPowerAverageMs = 1000;

// Fills in what follows from the readings: all but the limit, the averages and the duration.
DeviceState device_state(std::span<const Reading> readings);

// The summary of several consecutive measurements: the widest ranges, the highest power, all
// reasons. The median is that of the measurements' medians. Nothing if there are none.
std::optional<DeviceState> together(std::span<const DeviceState> states);

}  // namespace model
