#include "host/kernels.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/gpu.h"
#include "machine/symbols.h"
#include "model/compiled_kernel.h"
#include "model/gpus.h"

namespace host {
namespace {

std::map<const void*, std::size_t> opted_in;  // dynamic shared bytes, by kernel

std::optional<int> recorded_registers(const std::string& kernel) {
  const auto record = model::find_compiled_kernel(kernel, gpu().compute_capability);
  return record ? std::optional(record->registers) : std::nullopt;
}
FindRegisters find_registers = recorded_registers;

// 0 if the number is not known; then registers limit nothing.
int registers_of(const void* kernel) {
  return find_registers(machine::function_name(kernel)).value_or(0);
}

std::size_t static_bytes_of(const void* kernel) {
  std::size_t bytes = 0;
  for (const machine::SharedArray& array : machine::shared_arrays(kernel)) bytes += array.bytes;
  return bytes;
}

int blocks_per_sm(const void* kernel, int threads, std::size_t dynamic_bytes) {
  const std::size_t shared = static_bytes_of(kernel) + dynamic_bytes;
  if (shared > static_cast<std::size_t>(gpu().smem_bytes_per_block)) return 0;
  return model::occupancy(gpu(), {threads, registers_of(kernel), static_cast<int>(shared)})
      .blocks_per_sm;
}

cudaError_t active_blocks(
    const Call& call, int* blocks, const void* kernel, int threads, std::size_t dynamic_bytes) {
  if (blocks == nullptr || kernel == nullptr || threads <= 0) {
    return call.fails(
        cudaErrorInvalidValue, "there is no result, no kernel, or no thread in a block");
  }
  *blocks = blocks_per_sm(kernel, threads, dynamic_bytes);
  return cudaSuccess;
}

}  // namespace

void set_find_registers(FindRegisters find) {
  find_registers = std::move(find);
}

std::size_t most_dynamic_shared_bytes(const void* kernel) {
  const auto found = opted_in.find(kernel);
  if (found != opted_in.end()) return found->second;
  return kSharedBytesPerBlock -
         std::min<std::size_t>(kSharedBytesPerBlock, static_bytes_of(kernel));
}

}  // namespace host

using namespace host;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const Call call;
  if (kernel == nullptr) return call.fails(cudaErrorInvalidDeviceFunction, "there is no kernel");
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  const auto most = static_cast<std::size_t>(gpu().smem_bytes_per_block);
  if (value < 0 || static_bytes_of(kernel) + value > most) {
    return call.fails(
        cudaErrorInvalidValue,
        std::to_string(value) + " bytes of dynamic shared memory, with the kernel's " +
            std::to_string(static_bytes_of(kernel)) + " of its own, are more than a block of the " +
            gpu().name + " can have: " + std::to_string(most));
  }
  opted_in[kernel] = value;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const Call call;
  if (attributes == nullptr || kernel == nullptr) {
    return call.fails(cudaErrorInvalidDeviceFunction, "there is no result, or no kernel");
  }
  *attributes = {};
  attributes->sharedSizeBytes = static_bytes_of(kernel);
  attributes->numRegs = registers_of(kernel);
  attributes->maxThreadsPerBlock = kThreadsPerBlock;
  for (int threads = kThreadsPerBlock; threads > 0; threads -= gpu().warp.lanes) {
    attributes->maxThreadsPerBlock = threads;
    const auto fits = model::occupancy(gpu(), {threads, attributes->numRegs, 0});
    if (fits.blocks_by_registers > 0) break;
  }
  attributes->ptxVersion = attributes->binaryVersion = gpu().compute_capability;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(most_dynamic_shared_bytes(kernel));
  attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
  if (attributes->numRegs == 0) {
    call.note("the kernel's registers are not known here; 0 stands for them");
  }
  return cudaSuccess;
}

// Hints about caches change no count, and a bank is four bytes wide whatever a program asks for.
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) {
  const Call call;
  return cudaSuccess;
}

cudaError_t cudaFuncSetSharedMemConfig(const void*, cudaSharedMemConfig) {
  const Call call;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes) {
  return active_blocks(Call(), blocks, kernel, threads, dynamic_shared_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes, unsigned) {
  return active_blocks(Call(), blocks, kernel, threads, dynamic_shared_bytes);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(
    std::size_t* bytes, const void* kernel, int blocks, int threads) {
  const Call call;
  const model::Gpu& of = gpu();
  if (bytes == nullptr || blocks <= 0 || blocks_per_sm(kernel, threads, 0) < blocks) {
    return call.fails(cudaErrorInvalidValue, "so many blocks do not fit on an SM");
  }
  const int share =
      of.smem_bytes_per_sm / blocks / of.smem_granularity_bytes * of.smem_granularity_bytes;
  const std::size_t most =
      std::min(share - of.smem_reserved_bytes_per_block, of.smem_bytes_per_block);
  *bytes = most - std::min(most, static_bytes_of(kernel));
  return cudaSuccess;
}

cudaError_t simt::best_block_size(
    int* grid, int* block, const void* kernel, int most_threads,
    std::size_t (*shared_bytes)(const void* context, int threads), const void* context) {
  const Call call("cudaOccupancyMaxPotentialBlockSize");
  if (grid == nullptr || block == nullptr || kernel == nullptr) {
    return call.fails(cudaErrorInvalidValue, "there is no result, or no kernel");
  }
  const int lanes = gpu().warp.lanes;
  const int most = most_threads > 0 ? std::min(most_threads, kThreadsPerBlock) : kThreadsPerBlock;
  int best = 0;
  // Of two sizes with the same number of threads on an SM, the larger.
  for (int threads = most; threads > 0; threads -= threads % lanes != 0 ? threads % lanes : lanes) {
    const int blocks = blocks_per_sm(kernel, threads, shared_bytes(context, threads));
    if (blocks * threads <= best) continue;
    best = blocks * threads;
    *block = threads;
    *grid = blocks * gpu().sms;
  }
  if (best > 0) return cudaSuccess;
  return call.fails(cudaErrorInvalidConfiguration, "no block of the kernel fits on an SM");
}
