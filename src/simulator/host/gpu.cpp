#include "simulator/host/call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/stream.h"
#include "simulator/machine/device_heap.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"

namespace host {
namespace {

constexpr const char* kOneGpu = "there is one GPU here, with the number 0";

// Double-precision multiply-adds are this many times slower. Source: the CUDA programming guide's
// table of arithmetic throughput.
int double_ratio(int compute_capability) {
  switch (compute_capability) {
    case 80:
    case 90:
    case 100:
      return 2;
    case 75:
      return 32;
    default:
      return 64;
  }
}

// The properties of a GPU that a program can query. Limits that are the same for every GPU of the
// table are from the CUDA programming guide's table of technical specifications per compute
// capability.
cudaDeviceProp properties_of(const model::Gpu& gpu) {
  constexpr int kMost = 0x7fffffff;
  cudaDeviceProp of{};
  std::snprintf(of.name, sizeof of.name, "NVIDIA %s", gpu.name.c_str());
  of.totalGlobalMem =
      std::max(static_cast<std::size_t>(gpu.dram_gib) << 30, machine::most_device_bytes());
  of.sharedMemPerBlock = kSharedBytesPerBlock;
  of.regsPerBlock = gpu.registers_per_sm;
  of.warpSize = gpu.warp.lanes;
  of.memPitch = kMost;
  of.maxThreadsPerBlock = kThreadsPerBlock;
  of.maxThreadsDim[0] = of.maxThreadsDim[1] = kThreadsPerBlock;
  of.maxThreadsDim[2] = 64;
  of.maxGridSize[0] = kMost;
  of.maxGridSize[1] = of.maxGridSize[2] = 65535;
  of.clockRate = static_cast<int>(gpu.boost_ghz * 1e6);
  of.totalConstMem = 64 * 1024;
  of.major = gpu.compute_capability / 10;
  of.minor = gpu.compute_capability % 10;
  of.textureAlignment = of.surfaceAlignment = 512;
  of.texturePitchAlignment = 32;
  of.deviceOverlap = 1;
  of.multiProcessorCount = gpu.sms;
  of.canMapHostMemory = 1;
  of.maxTexture1D = 131072;
  of.maxTexture2D[0] = 131072;
  of.maxTexture2D[1] = 65536;
  std::fill_n(of.maxTexture3D, 3, 16384);
  of.maxTexture1DLayered[0] = 32768;
  of.maxTexture1DLayered[1] = 2048;
  of.maxTexture2DLayered[0] = of.maxTexture2DLayered[1] = 32768;
  of.maxTexture2DLayered[2] = 2048;
  of.concurrentKernels = 1;
  of.asyncEngineCount = 2;
  of.unifiedAddressing = 1;
  of.memoryBusWidth = gpu.dram_bus_bits;
  // Such that two transfers per clock over the whole width are the bandwidth, as programs compute.
  if (gpu.dram_bus_bits > 0) {
    of.memoryClockRate = static_cast<int>(gpu.dram_gb_per_s * 1e6 / (2.0 * gpu.dram_bus_bits / 8));
  }
  of.l2CacheSize = static_cast<int>(gpu.l2_mib * 1024 * 1024);
  // As on an A100: 30 of its 40 MB.
  if (gpu.compute_capability >= 80) of.persistingL2CacheMaxSize = of.l2CacheSize / 4 * 3;
  of.accessPolicyMaxWindowSize = of.persistingL2CacheMaxSize;
  of.maxThreadsPerMultiProcessor = gpu.threads_per_sm;
  of.streamPrioritiesSupported = of.globalL1CacheSupported = of.localL1CacheSupported = 1;
  of.sharedMemPerMultiprocessor = gpu.smem_bytes_per_sm;
  of.regsPerMultiprocessor = gpu.registers_per_sm;
  of.managedMemory = 1;
  of.singleToDoublePrecisionPerfRatio = double_ratio(gpu.compute_capability);
  of.concurrentManagedAccess = of.computePreemptionSupported = of.cooperativeLaunch = 1;
  of.canUseHostPointerForRegisteredMem = 1;
  of.sharedMemPerBlockOptin = gpu.smem_bytes_per_block;
  of.maxBlocksPerMultiProcessor = gpu.blocks_per_sm;
  of.reservedSharedMemPerBlock = gpu.smem_reserved_bytes_per_block;
  of.hostRegisterSupported = of.memoryPoolsSupported = 1;
  of.clusterLaunch = gpu.compute_capability >= 90;
  return of;
}

std::optional<int> value_of(cudaDeviceAttr wanted, const cudaDeviceProp& of) {
  switch (wanted) {
#define SIMT_ATTRIBUTE(name, number, member) \
  case cudaDevAttr##name:                    \
    return static_cast<int>(of.member);
    SIMT_DEVICE_ATTRIBUTES(SIMT_ATTRIBUTE)
#undef SIMT_ATTRIBUTE
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
      return 0;  // there is one process
  }
  return std::nullopt;
}

std::size_t limits[cudaLimitPersistingL2CacheSize + 1] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

}  // namespace

const model::Gpu& gpu() {
  const model::Gpu* const current = machine::current_gpu();
  return current != nullptr ? *current : *model::find_gpu("RTX 3090");
}

}  // namespace host

using namespace host;

cudaError_t cudaGetDeviceCount(int* count) {
  return Call().gives(count, 1);
}

cudaError_t cudaGetDevice(int* device) {
  return Call().gives(device, 0);
}

cudaError_t cudaSetDevice(int device) {
  const Call call;
  return device == 0 ? cudaSuccess : call.fails(cudaErrorInvalidDevice, kOneGpu);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Call call;
  if (device != 0) return call.fails(cudaErrorInvalidDevice, kOneGpu);
  return call.gives(properties, properties_of(gpu()));
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const Call call;
  if (device != 0) return call.fails(cudaErrorInvalidDevice, kOneGpu);
  const auto known = value_of(attribute, properties_of(gpu()));
  if (!known) return call.fails(cudaErrorInvalidValue, "this attribute is not known here");
  return call.gives(value, *known);
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device) {
  const Call call;
  if (device != 0) return call.fails(cudaErrorInvalidDevice, kOneGpu);
  if (id == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  std::snprintf(id, std::max(bytes, 0), "0000:00:00.0");
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  return Call().gives(version, CUDART_VERSION);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return Call().gives(version, CUDART_VERSION);
}

// A launch has finished when it returns.
cudaError_t cudaDeviceSynchronize() {
  const Call call;
  host_waits();
  return cudaSuccess;
}

cudaError_t cudaThreadSynchronize() {
  const Call call;
  host_waits();
  return cudaSuccess;
}

cudaError_t cudaDeviceReset() {
  const Call call;
  host_waits();
  machine::free_all_arrays();
  destroy_streams();
  set_last_error(cudaSuccess);
  return cudaSuccess;
}

cudaError_t cudaThreadExit() {
  return cudaDeviceReset();
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  const Call call;
  if (limit > cudaLimitPersistingL2CacheSize) {
    return call.fails(cudaErrorUnsupportedLimit, "there is no such limit");
  }
  limits[limit] = value;
  if (limit == cudaLimitMallocHeapSize) machine::heap_bytes = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  const Call call;
  if (limit > cudaLimitPersistingL2CacheSize) {
    return call.fails(cudaErrorUnsupportedLimit, "there is no such limit");
  }
  return call.gives(value, limits[limit]);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  const Call call;
  if (device != 0 || peer != 0) return call.fails(cudaErrorInvalidDevice, kOneGpu);
  return call.gives(can, 0);
}

#define SIMT_OTHER_GPU(name, ...)                         \
  cudaError_t name(__VA_ARGS__) {                         \
    return Call().fails(cudaErrorInvalidDevice, kOneGpu); \
  }
SIMT_OTHER_GPU(cudaDeviceGetP2PAttribute, int*, cudaDeviceP2PAttr, int, int)
SIMT_OTHER_GPU(cudaDeviceEnablePeerAccess, int, unsigned)
SIMT_OTHER_GPU(cudaDeviceDisablePeerAccess, int)
#undef SIMT_OTHER_GPU

// Hints about caches change no count, and since compute capability 5.0 a bank is four bytes wide
// whatever a program asks for.
#define SIMT_HINT(name, ...)      \
  cudaError_t name(__VA_ARGS__) { \
    const Call call;              \
    return cudaSuccess;           \
  }
SIMT_HINT(cudaSetDeviceFlags, unsigned)
SIMT_HINT(cudaDeviceSetCacheConfig, cudaFuncCache)
SIMT_HINT(cudaDeviceSetSharedMemConfig, cudaSharedMemConfig)
SIMT_HINT(cudaFuncSetCacheConfig, const void*, cudaFuncCache)
SIMT_HINT(cudaFuncSetSharedMemConfig, const void*, cudaSharedMemConfig)
SIMT_HINT(cudaProfilerStart)
SIMT_HINT(cudaProfilerStop)
#undef SIMT_HINT
