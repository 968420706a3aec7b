#include <doctest/doctest.h>

#include <bit>
#include <climits>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "model/ceiling.h"
#include "model/gpus.h"

namespace model {

namespace {

std::vector<Gpu> real_gpus() {
  std::vector<Gpu> gpus;
  for (const Gpu& gpu : known_gpus()) {
    if (has_clock(gpu)) gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

TEST_CASE("a GPU is found by its name or its first words, ignoring case, spaces and dashes") {
  for (const Gpu& gpu : known_gpus()) CHECK(find_gpu(gpu.name) == &gpu);
  REQUIRE(find_gpu("rtx3090"));
  CHECK(find_gpu("rtx3090")->name == "RTX 3090");
  CHECK(find_gpu("Rtx-A6000") == find_gpu("RTX A6000"));
  CHECK(find_gpu("a100") == find_gpu("A100 SXM4 80GB"));
  CHECK(find_gpu("h100") == find_gpu("H100-80GB-HBM3"));
  CHECK(find_gpu("paper") == find_gpu("Paper-GPU"));
}

TEST_CASE("an unknown or ambiguous name is no GPU") {
  for (const char* name : {"", " - ", "RTX", "A10", "H20", "RTX 309", "RTX 30900", "SXM", "x"}) {
    CAPTURE(name);
    CHECK(find_gpu(name) == nullptr);
  }
}

TEST_CASE("tensor cores multiply a power of two per cycle, bf16 twice as fast as tf32") {
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    if (gpu.compute_capability < 80) {  // fp16 only
      CHECK(gpu.tf32_products_per_clock == 0);
      continue;
    }
    // 128 in GeForces, 256 and more in the others.
    CHECK(std::has_single_bit(static_cast<unsigned>(gpu.tf32_products_per_clock)));
    CHECK(peak_tflops(gpu, Multiplier::wgmma_bf16) == 2 * peak_tflops(gpu, Multiplier::wgmma_tf32));
  }
}

TEST_CASE("SMs, lanes and clock give the rate of FFMAs that NVIDIA states, in TFLOP/s") {
  const std::pair<const char*, double> stated[] = {
      {"T4", 8.1},    {"A100", 19.5}, {"RTX 3090", 35.6}, {"RTX A6000", 38.7}, {"RTX 4090", 82.6},
      {"H100", 66.9}, {"H200", 66.9}, {"B200", 75.0},     {"RTX 5090", 104.8}};
  CHECK(std::size(stated) == real_gpus().size());
  for (const auto& [name, tflops] : stated) {
    CAPTURE(name);
    CHECK(std::abs(peak_tflops(*find_gpu(name), Multiplier::ffma) - tflops) < 0.05);
  }
}

TEST_CASE("L2 never delivers more than all SMs can take") {
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    CHECK(l2_bytes_per_clock(gpu) > 0);
    CHECK(l2_bytes_per_clock(gpu) <= gpu.sms * l2_bytes_per_sm_clock);
  }
}

TEST_CASE("a block may opt in to all of an SM's shared memory except the reserved part") {
  CHECK(real_gpus().size() == 9);
  for (const Gpu& gpu : real_gpus()) {
    CAPTURE(gpu.name);
    CHECK(gpu.smem_bytes_per_block + gpu.smem_reserved_bytes_per_block == gpu.smem_bytes_per_sm);
  }
}

TEST_CASE("the paper GPU has no clock, and the walkthrough's warps") {
  CHECK(known_gpus().size() == real_gpus().size() + 1);
  const Gpu& paper = *find_gpu("paper");
  CHECK_FALSE(has_clock(paper));
  CHECK(paper.warp == kPaperWarp);
  for (const Gpu& gpu : real_gpus()) CHECK(gpu.warp == kGpuWarp);
}

}  // namespace model

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#define HAVE_CUDA_OCCUPANCY 1
#endif

namespace model {

namespace {

const Gpu& gpu_named(std::string_view name) {
  const Gpu* gpu = find_gpu(name);
  REQUIRE(gpu);
  return *gpu;
}

}  // namespace

TEST_CASE("the occupancy for sm_86 is that of the published examples") {
  struct OccupancyRow {
    KernelResources kernel;
    int blocks;
    double percent;
    std::string_view limiter;
  };
  const OccupancyRow lines[] = {
      {{1024, 37, 8192}, 1, 66.67, "threads"}, {{256, 38, 2048}, 6, 100, "threads"},
      {{128, 40, 2048}, 12, 100, "threads"},   {{64, 40, 2048}, 16, 66.67, "blocks"},
      {{32, 52, 2048}, 16, 33.33, "blocks"},   {{16, 72, 2048}, 16, 33.33, "blocks"},
  };
  for (const OccupancyRow& line : lines) {
    CAPTURE(line.kernel.threads_per_block);
    const Occupancy result = occupancy(gpu_named("RTX 3090"), line.kernel);
    CHECK(result.blocks_per_sm == line.blocks);
    CHECK(std::abs(result.percent - line.percent) < 0.005);
    CHECK(result.limiter == line.limiter);
  }
}

TEST_CASE("4096 blocks at 6 blocks per SM fill an RTX 3090 8.33 times") {
  const Gpu& gpu = gpu_named("RTX 3090");
  CHECK(std::abs(waves(gpu, occupancy(gpu, {256, 38, 2048}), 4096) - 8.33) < 0.005);
  CHECK(waves(gpu, occupancy(gpu, {256, 38, 2048}), 0) == 0);
}

TEST_CASE("every limit can be the limiter") {
  const Gpu& gpu = gpu_named("A100");
  CHECK(occupancy(gpu, {512, 32, 0}).limiter == "threads");
  CHECK(occupancy(gpu, {32, 32, 0}).limiter == "blocks");
  CHECK(occupancy(gpu, {256, 32, 40000}).limiter == "shared memory");
  CHECK(occupancy(gpu, {256, 128, 0}).limiter == "registers");
}

TEST_CASE("a block that the GPU cannot run fits 0 times") {
  const Gpu& gpu = gpu_named("T4");
  for (const KernelResources& kernel :
       {KernelResources{1025, 32, 0}, KernelResources{0, 32, 0}, KernelResources{-1, 32, 0},
        KernelResources{INT_MAX, 32, 0}, KernelResources{32, 256, 0},
        KernelResources{32, INT_MAX, 0}, KernelResources{1024, 65, 0},
        KernelResources{32, 32, 64 * 1024 + 1}, KernelResources{32, 32, INT_MAX}}) {
    CAPTURE(kernel.threads_per_block);
    CAPTURE(kernel.registers_per_thread);
    CAPTURE(kernel.smem_bytes_per_block);
    const Occupancy result = occupancy(gpu, kernel);
    CHECK(result.blocks_per_sm == 0);
    CHECK(result.percent == 0);
    CHECK(std::isinf(waves(gpu, result, 1)));
  }
}

TEST_CASE("a kernel without shared memory or registers is not limited by them") {
  const Occupancy result = occupancy(gpu_named("H200"), {256, 0, 0});
  CHECK(result.blocks_by_smem == INT_MAX);
  CHECK(result.blocks_by_registers == INT_MAX);
}

#ifdef HAVE_CUDA_OCCUPANCY

namespace {

cudaOccDeviceProp device_of(const Gpu& gpu) {
  constexpr int kSmemWithoutOptIn = 48 * 1024;
  cudaOccDeviceProp device;
  device.computeMajor = gpu.compute_capability / 10;
  device.computeMinor = gpu.compute_capability % 10;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = gpu.threads_per_sm;
  device.regsPerBlock = gpu.registers_per_sm;
  device.regsPerMultiprocessor = gpu.registers_per_sm;
  device.warpSize = 32;
  device.sharedMemPerBlock = kSmemWithoutOptIn;
  device.sharedMemPerMultiprocessor = gpu.smem_bytes_per_sm;
  device.numSms = gpu.sms;
  device.sharedMemPerBlockOptin = gpu.smem_bytes_per_block;
  device.reservedSharedMemPerBlock = gpu.smem_reserved_bytes_per_block;
  return device;
}

cudaOccResult by_nvidia(const Gpu& gpu, const KernelResources& kernel) {
  const cudaOccDeviceProp device = device_of(gpu);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX;
  function.numRegs = kernel.registers_per_thread;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = kernel.smem_bytes_per_block;
  function.numBlockBarriers = 1;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result{};
  REQUIRE(
      cudaOccMaxActiveBlocksPerMultiprocessor(
          &result, &device, &function, &state, kernel.threads_per_block,
          kernel.smem_bytes_per_block) == CUDA_OCC_SUCCESS);
  return result;
}

// One comparison per kernel: doctest's macros would take minutes for millions of them.
bool same(const Occupancy& ours, const cudaOccResult& theirs) {
  return ours.blocks_per_sm == theirs.activeBlocksPerMultiprocessor &&
         ours.blocks_by_threads == theirs.blockLimitWarps &&
         ours.blocks_by_blocks == theirs.blockLimitBlocks &&
         ours.blocks_by_registers == theirs.blockLimitRegs &&
         (ours.resources.smem_bytes_per_block == 0 ||
          ours.blocks_by_smem == theirs.blockLimitSharedMem);
}

}  // namespace

TEST_CASE("occupancy equals NVIDIA's cuda_occupancy.h on every real GPU of the table") {
  for (const Gpu& gpu : known_gpus()) {
    if (!has_clock(gpu)) continue;
    long long kernels = 0;
    const auto compare_at = [&](const KernelResources& kernel) {
      ++kernels;
      if (same(occupancy(gpu, kernel), by_nvidia(gpu, kernel))) return;
      CAPTURE(gpu.name);
      CAPTURE(kernel.threads_per_block);
      CAPTURE(kernel.registers_per_thread);
      FAIL_CHECK("another occupancy with shared memory of ", kernel.smem_bytes_per_block, " bytes");
    };
    // Registers are allotted in eights: both sides of each step.
    for (int registers = 16; registers <= 255; registers += registers % 8 == 0 ? 1 : 7) {
      for (int threads = 1; threads <= 1056; threads = threads == 1 ? 16 : threads + 16) {
        for (int smem = 0; smem <= gpu.smem_bytes_per_sm; smem += 12000) {
          compare_at({threads, registers, smem});
        }
      }
    }
    for (int smem = 0; smem <= gpu.smem_bytes_per_sm + 2048; smem += 4) {
      compare_at({128, 32, smem});
    }
    CHECK(kernels > 30000);
  }
}

#endif

TEST_CASE("a GPU's state is the range of its readings; what none of them says is not known") {
  const std::vector<Reading> readings = {
      {1980, 640, 50, 0}, {1935, 671, 52, 0x4}, {1980, 655, 53, 0x1}, {1965, 654, 51, 0}};
  const DeviceState state = device_state(readings);
  CHECK(state.readings == 4);
  CHECK(*state.min_mhz == 1935);
  CHECK(*state.median_mhz == 1965);  // a clock that it had
  CHECK(*state.max_mhz == 1980);
  CHECK(*state.mean_watts == 655);
  CHECK(*state.max_watts == 671);
  CHECK(*state.max_celsius == 53);
  REQUIRE(state.throttles);
  REQUIRE(state.throttles->size() == 1);
  CHECK(state.throttles->front().reason == "the power limit");
  CHECK(state.throttles->front().readings == 1);

  const DeviceState silent = device_state(std::vector<Reading>{{{}, 300, {}, {}}, {}});
  CHECK_FALSE(silent.median_mhz);
  CHECK_FALSE(silent.max_celsius);
  CHECK_FALSE(silent.throttles);
  CHECK(*silent.mean_watts == 300);
}

TEST_CASE("an idle GPU and a clock that the user chose are not throttled; heat is one reason") {
  const DeviceState chosen = device_state(std::vector<Reading>{{1200, {}, {}, 0x1 | 0x2 | 0x100}});
  REQUIRE(chosen.throttles);
  CHECK(chosen.throttles->empty());
  const DeviceState hot = device_state(std::vector<Reading>{{1200, {}, {}, 0x20 | 0x40}});
  REQUIRE(hot.throttles->size() == 1);
  CHECK(hot.throttles->front().reason == "heat");
  CHECK(hot.throttles->front().readings == 1);
}

TEST_CASE("several measurements together have the widest range and all reasons") {
  CHECK_FALSE(together({}));
  std::vector<DeviceState> states = {
      device_state(std::vector<Reading>{{1980, 600, 50, 0}}),
      device_state(std::vector<Reading>{{1900, 700, 60, 0x4}, {1890, 690, 60, 0x4 | 0x20}}),
      device_state(std::vector<Reading>{{1980, {}, {}, {}}})};
  states[1].limit_watts = 700;
  const DeviceState all = *together(states);
  CHECK(all.readings == 4);
  CHECK(*all.median_mhz == 1980);
  CHECK(*all.min_mhz == 1890);
  CHECK(*all.max_watts == 700);
  CHECK(*all.limit_watts == 700);
  REQUIRE(all.throttles->size() == 2);
  CHECK(all.throttles->at(0).readings == 2);
  CHECK(all.throttles->at(1).reason == "heat");
  CHECK_FALSE(together(std::vector<DeviceState>{states[2]})->throttles);
}

}  // namespace model
