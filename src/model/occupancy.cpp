#include "model/occupancy.h"

#include <climits>
#include <limits>

namespace model {

namespace {

constexpr int kMaxThreadsPerBlock = 1024;    // for every cc since 2.0
constexpr int kMaxRegistersPerThread = 255;  // the most that an instruction can name

long long round_up(long long value, long long step) {
  return (value + step - 1) / step * step;
}

int blocks_by_threads(const Gpu& gpu, const KernelResources& kernel, int warps_per_block) {
  if (kernel.threads_per_block < 1 || kernel.threads_per_block > kMaxThreadsPerBlock) return 0;
  return gpu.threads_per_sm / gpu.warp.lanes / warps_per_block;
}

int blocks_by_smem(const Gpu& gpu, const KernelResources& kernel) {
  if (kernel.smem_bytes_per_block <= 0) return INT_MAX;
  if (kernel.smem_bytes_per_block > gpu.smem_bytes_per_block) return 0;
  const long long taken = round_up(
      kernel.smem_bytes_per_block + gpu.smem_reserved_bytes_per_block, gpu.smem_granularity_bytes);
  return static_cast<int>(gpu.smem_bytes_per_sm / taken);
}

int blocks_by_registers(const Gpu& gpu, const KernelResources& kernel, int warps_per_block) {
  if (kernel.registers_per_thread <= 0) return INT_MAX;
  if (kernel.registers_per_thread > kMaxRegistersPerThread) return 0;
  const long long per_warp =
      round_up(kernel.registers_per_thread * gpu.warp.lanes, gpu.register_granularity);
  const int partitions = gpu.sub_partitions_per_sm;
  const long long warps_per_partition = gpu.registers_per_sm / partitions / per_warp;
  return static_cast<int>(warps_per_partition * partitions / warps_per_block);
}

}  // namespace

Occupancy occupancy(const Gpu& gpu, const KernelResources& kernel) {
  // A block without threads is counted as one warp, to avoid a division by zero.
  const int threads = kernel.threads_per_block < 1 ? 1 : kernel.threads_per_block;
  const int warps_per_block = gpu.warp.warps_of(threads);

  Occupancy result{};
  result.resources = kernel;
  result.warps_per_block = warps_per_block;
  result.blocks_by_threads = blocks_by_threads(gpu, kernel, warps_per_block);
  result.blocks_by_blocks = gpu.blocks_per_sm;
  result.blocks_by_smem = blocks_by_smem(gpu, kernel);
  result.blocks_by_registers = blocks_by_registers(gpu, kernel, warps_per_block);

  result.blocks_per_sm = result.blocks_by_threads;
  result.limiter = "threads";
  const auto limit = [&](int blocks, std::string_view name) {
    if (blocks >= result.blocks_per_sm) return;
    result.blocks_per_sm = blocks;
    result.limiter = name;
  };
  limit(result.blocks_by_blocks, "blocks");
  limit(result.blocks_by_smem, "shared memory");
  limit(result.blocks_by_registers, "registers");

  const double warps_per_sm = gpu.threads_per_sm / gpu.warp.lanes;
  result.percent = 100.0 * result.blocks_per_sm * warps_per_block / warps_per_sm;
  return result;
}

double waves(const Gpu& gpu, const Occupancy& occupancy, long long blocks) {
  if (blocks == 0) return 0;
  if (occupancy.blocks_per_sm == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(blocks) /
         (static_cast<double>(gpu.sms) * static_cast<double>(occupancy.blocks_per_sm));
}

}  // namespace model
