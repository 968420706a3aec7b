// CUDA's host functions, for builds without the toolkit. The room host/ defines them: with CUDA's
// meaning, in memory of the CPU, each finished when it returns.
#pragma once

#include "simulator/cuda/headers/driver_types.h"
#include "simulator/cuda/headers/launch_attributes.h"

// Errors.
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

// Memory. `argument` is the source text of the pointer's argument; the array gets its last name.
namespace simt {
cudaError_t malloc_device(void** pointer, std::size_t bytes, const char* argument);
cudaError_t malloc_managed(void** pointer, std::size_t bytes, unsigned flags, const char* argument);
cudaError_t malloc_pinned(void** pointer, std::size_t bytes, const char* argument);
cudaError_t malloc_pitch(
    void** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
    const char* argument);
cudaError_t register_host(void* pointer, std::size_t bytes, const char* argument);
}  // namespace simt
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);
cudaError_t cudaMemPrefetchAsync(
    const void* pointer, std::size_t bytes, int device, cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(
    const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemPrefetchAsync(
    const void* pointer, std::size_t bytes, cudaMemLocation location, unsigned flags,
    cudaStream_t stream = nullptr);
cudaError_t cudaMemAdvise(
    const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location);

// Copies. A pitch is the number of bytes from one row to the next.
namespace simt {
// How many bytes both sides have, if the compiler knows it, as of an array on the stack.
struct KnownBytes {
  std::size_t to = static_cast<std::size_t>(-1), from = static_cast<std::size_t>(-1);
};
cudaError_t copy(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, KnownBytes known);
cudaError_t copy_async(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
    KnownBytes known);
}  // namespace simt
#define SIMT_KNOWN_BYTES \
  { __builtin_object_size(to, 0), __builtin_object_size(from, 0) }
[[gnu::always_inline]] inline cudaError_t cudaMemcpy(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return simt::copy(to, from, bytes, kind, SIMT_KNOWN_BYTES);
}
[[gnu::always_inline]] inline cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
    cudaStream_t stream = nullptr) {
  return simt::copy_async(to, from, bytes, kind, stream, SIMT_KNOWN_BYTES);
}
#undef SIMT_KNOWN_BYTES
cudaError_t cudaMemcpy2D(
    void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(
    void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
    std::size_t height, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeer(
    void* to, int to_device, const void* from, int from_device, std::size_t bytes);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* what);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(
    void* to, std::size_t pitch, int value, std::size_t width, std::size_t height);
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent);

// A __device__ or __constant__ variable of the program.
namespace simt {
struct Symbol {
  void* data;
  std::size_t bytes;
};
cudaError_t copy_to_symbol(
    Symbol symbol, const void* from, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream);
cudaError_t copy_from_symbol(
    void* to, Symbol symbol, std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
    cudaStream_t stream);
cudaError_t address_of_symbol(void** pointer, Symbol symbol);
}  // namespace simt

// Streams and events. The work of all streams runs in the order of the calls. Time is not measured.
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data);
cudaError_t cudaStreamAttachMemAsync(
    cudaStream_t stream, void* pointer, std::size_t bytes = 0, unsigned flags = 4);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

namespace simt {
// The work that follows is of this stream.
void begin_in(cudaStream_t stream);
}  // namespace simt

// The GPU.
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaSetDeviceFlags(unsigned flags);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaThreadSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaThreadExit();
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config);
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config);
cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value);
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit);
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceGetP2PAttribute(
    int* value, cudaDeviceP2PAttr attribute, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceDisablePeerAccess(int peer);
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();

// Kernels.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaFuncSetCacheConfig(const void* kernel, cudaFuncCache config);
cudaError_t cudaFuncSetSharedMemConfig(const void* kernel, cudaSharedMemConfig config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* kernel, int threads, std::size_t dynamic_shared_bytes, unsigned flags);
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(
    std::size_t* bytes, const void* kernel, int blocks, int threads);
namespace simt {
// A kernel's call whose types the program hides behind void*. They follow from the kernel's name.
struct UntypedCall {
  static constexpr int kRegisters = 8, kOnStack = 24;
  const void* kernel;
  double floats[kRegisters];
  long long integers[kRegisters + kOnStack];
  void run() const;
};
// `arguments` are the addresses of the kernel's arguments.
cudaError_t prepare(UntypedCall* call, const void* kernel, void** arguments);

// The block size with the highest occupancy, and how many such blocks fill the GPU.
// `shared_bytes(context, threads)` is a block's dynamic shared memory.
cudaError_t best_block_size(
    int* grid, int* block, const void* kernel, int most_threads,
    std::size_t (*shared_bytes)(const void* context, int threads), const void* context);
}  // namespace simt
