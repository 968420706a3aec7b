// CUDA's host functions for C++, for builds without the toolkit. Some are templates that call
// those of cuda_runtime_api.h.
#pragma once

#include <type_traits>
#include <utility>

#include "simulator/cuda/cpu.h"
#include "simulator/cuda/headers/cuda_runtime_api.h"

// A pointer of any type.
namespace simt {
template <class T>
void** as_void(T** pointer) {
  return reinterpret_cast<void**>(const_cast<std::remove_cv_t<T>**>(pointer));
}
}  // namespace simt

// `argument` is the text of the pointer's argument, from the macros below.
#define SIMT_ALLOCATION(name, function, ...)                                                  \
  template <class T>                                                                          \
  __forceinline__ cudaError_t name(                                                           \
      T** pointer, std::size_t bytes __VA_OPT__(, ) __VA_ARGS__, const char* argument = "") { \
    return simt::function(simt::as_void(pointer), bytes, argument);                           \
  }
SIMT_ALLOCATION(cudaMalloc, malloc_device)
SIMT_ALLOCATION(cudaMallocAsync, malloc_device, cudaStream_t)
SIMT_ALLOCATION(cudaMallocHost, malloc_pinned)
SIMT_ALLOCATION(cudaMallocHost, malloc_pinned, unsigned)
SIMT_ALLOCATION(cudaHostAlloc, malloc_pinned, unsigned)
#undef SIMT_ALLOCATION
template <class T>
__forceinline__ cudaError_t
cudaMallocManaged(T** pointer, std::size_t bytes, unsigned flags, const char* argument = "") {
  return simt::malloc_managed(simt::as_void(pointer), bytes, flags, argument);
}
template <class T>
__forceinline__ cudaError_t
cudaMallocManaged(T** pointer, std::size_t bytes, const char* argument = "") {
  return cudaMallocManaged(pointer, bytes, cudaMemAttachGlobal, argument);
}
template <class T>
__forceinline__ cudaError_t cudaMallocPitch(
    T** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
    const char* argument = "") {
  return simt::malloc_pitch(simt::as_void(pointer), pitch, width, height, argument);
}
__forceinline__ cudaError_t
cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent, const char* argument = "") {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return simt::malloc_pitch(
      &pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth, argument);
}
template <class T>
__forceinline__ cudaError_t
cudaHostRegister(T* pointer, std::size_t bytes, unsigned, const char* argument = "") {
  return simt::register_host(
      const_cast<void*>(static_cast<const volatile void*>(pointer)), bytes, argument);
}
template <class T>
__forceinline__ cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned flags) {
  return cudaHostGetDevicePointer(simt::as_void(device), host, flags);
}
// These are macros so that the array can get the pointer's name.
#define cudaMalloc(pointer, ...) cudaMalloc(pointer, __VA_ARGS__, #pointer)
#define cudaMallocAsync(pointer, ...) cudaMallocAsync(pointer, __VA_ARGS__, #pointer)
#define cudaMallocManaged(pointer, ...) cudaMallocManaged(pointer, __VA_ARGS__, #pointer)
#define cudaMallocHost(pointer, ...) cudaMallocHost(pointer, __VA_ARGS__, #pointer)
#define cudaHostAlloc(pointer, ...) cudaHostAlloc(pointer, __VA_ARGS__, #pointer)
#define cudaMallocPitch(pointer, ...) cudaMallocPitch(pointer, __VA_ARGS__, #pointer)
#define cudaMalloc3D(pointer, ...) cudaMalloc3D(pointer, __VA_ARGS__, #pointer)
#define cudaHostRegister(pointer, ...) cudaHostRegister(pointer, __VA_ARGS__, #pointer)

inline cudaExtent make_cudaExtent(std::size_t width, std::size_t height, std::size_t depth) {
  return {width, height, depth};
}
inline cudaPos make_cudaPos(std::size_t x, std::size_t y, std::size_t z) {
  return {x, y, z};
}
inline cudaPitchedPtr make_cudaPitchedPtr(
    void* pointer, std::size_t pitch, std::size_t width, std::size_t height) {
  return {pointer, pitch, width, height};
}

namespace simt {
template <class T>
Symbol symbol_of(const T& variable) {
  return {const_cast<void*>(static_cast<const volatile void*>(&variable)), sizeof variable};
}
}  // namespace simt
template <class T>
__forceinline__ cudaError_t cudaMemcpyToSymbol(
    const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return simt::copy_to_symbol(simt::symbol_of(symbol), from, bytes, offset, kind, nullptr);
}
template <class T>
__forceinline__ cudaError_t cudaMemcpyToSymbolAsync(
    const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr) {
  return simt::copy_to_symbol(simt::symbol_of(symbol), from, bytes, offset, kind, stream);
}
template <class T>
__forceinline__ cudaError_t cudaMemcpyFromSymbol(
    void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return simt::copy_from_symbol(to, simt::symbol_of(symbol), bytes, offset, kind, nullptr);
}
template <class T>
__forceinline__ cudaError_t cudaMemcpyFromSymbolAsync(
    void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr) {
  return simt::copy_from_symbol(to, simt::symbol_of(symbol), bytes, offset, kind, stream);
}
template <class P, class T>
__forceinline__ cudaError_t cudaGetSymbolAddress(P** pointer, const T& symbol) {
  return simt::address_of_symbol(simt::as_void(pointer), simt::symbol_of(symbol));
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T&) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  *bytes = sizeof(T);
  return cudaSuccess;
}

// A kernel instead of its address.
#define SIMT_OF_KERNEL(function)                                                       \
  template <class... P, class... Arguments>                                            \
  __forceinline__ cudaError_t function(void (*kernel)(P...), Arguments... arguments) { \
    return function(reinterpret_cast<const void*>(kernel), arguments...);              \
  }
SIMT_OF_KERNEL(cudaFuncSetAttribute)
SIMT_OF_KERNEL(cudaFuncSetCacheConfig)
SIMT_OF_KERNEL(cudaFuncSetSharedMemConfig)
#undef SIMT_OF_KERNEL
#define SIMT_ABOUT_KERNEL(function, Value)                                       \
  template <class... P, class... Arguments>                                      \
  __forceinline__ cudaError_t function(                                          \
      Value* value, void (*kernel)(P...), Arguments... arguments) {              \
    return function(value, reinterpret_cast<const void*>(kernel), arguments...); \
  }
SIMT_ABOUT_KERNEL(cudaFuncGetAttributes, cudaFuncAttributes)
SIMT_ABOUT_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, int)
SIMT_ABOUT_KERNEL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, int)
SIMT_ABOUT_KERNEL(cudaOccupancyAvailableDynamicSMemPerBlock, std::size_t)
#undef SIMT_ABOUT_KERNEL

template <class Kernel, class SharedBytes>
__forceinline__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int* grid, int* block, Kernel kernel, SharedBytes shared_bytes, int most_threads = 0) {
  return simt::best_block_size(
      grid, block, reinterpret_cast<const void*>(kernel), most_threads,
      [](const void* context, int threads) {
        return static_cast<std::size_t>((*static_cast<const SharedBytes*>(context))(threads));
      },
      &shared_bytes);
}
template <class Kernel>
__forceinline__ cudaError_t cudaOccupancyMaxPotentialBlockSize(
    int* grid, int* block, Kernel kernel, std::size_t shared_bytes = 0, int most_threads = 0) {
  return simt::best_block_size(
      grid, block, reinterpret_cast<const void*>(kernel), most_threads,
      [](const void* context, int) { return *static_cast<const std::size_t*>(context); },
      &shared_bytes);
}

namespace simt {

// The error of this launch alone. An earlier one stays for cudaGetLastError. (Inlined, so that the
// line of the program is known.)
template <class Work>
__forceinline__ cudaError_t launch_in_stream(cudaStream_t stream, Work work) {
  const int before = launch_error();
  set_launch_error(cudaSuccess);
  begin_in(stream);
  work();
  const int error = launch_error();
  if (error == cudaSuccess) set_launch_error(before);
  return static_cast<cudaError_t>(error);
}

// A launch copies the value of a parameter; of a reference, which object it refers to.
// (std::reference_wrapper's header would double the time to compile a small kernel.)
template <class T>
struct Referred {
  Referred(T& object) : address(__builtin_addressof(object)) {}
  operator T&() const { return *address; }
  T* address;
};
template <class P>
using Kept = std::conditional_t<
    std::is_reference_v<P>, Referred<std::remove_reference_t<P>>, std::remove_cv_t<P>>;
// As a kernel's argument in memory, a reference is an address.
template <class P>
Kept<P> argument_at(const void* address) {
  if constexpr (std::is_reference_v<P>) {
    return **static_cast<std::remove_reference_t<P>* const*>(address);
  } else {
    return *static_cast<const P*>(address);
  }
}

template <class... P, std::size_t... I>
cudaError_t launch_with(
    void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
    cudaStream_t stream, std::index_sequence<I...>) {
  return launch_in_stream(stream, [&] {
    launch(kernel, grid, block, static_cast<int>(shared_bytes), argument_at<P>(arguments[I])...);
  });
}

}  // namespace simt

// `arguments` are the addresses of the kernel's arguments.
template <class... P>
cudaError_t cudaLaunchKernel(
    void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr) {
  return simt::launch_with(
      kernel, grid, block, arguments, shared_bytes, stream, std::index_sequence_for<P...>());
}
namespace simt {
inline void launch_untyped(
    const UntypedCall& call, dim3 grid, dim3 block, std::size_t shared_bytes) {
  auto thread = [=] { call.run(); };
  using Thread = decltype(thread);
  run_grid(
      call.kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
      static_cast<int>(shared_bytes), [](void* context) { (*static_cast<Thread*>(context))(); },
      &thread, sizeof thread);
}
}  // namespace simt
inline cudaError_t cudaLaunchKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr) {
  simt::UntypedCall call;
  const cudaError_t error = simt::prepare(&call, kernel, arguments);
  if (error != cudaSuccess) return error;
  return simt::launch_in_stream(
      stream, [=] { simt::launch_untyped(call, grid, block, shared_bytes); });
}
inline cudaError_t cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(
    void (*kernel)(P...), dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes = 0,
    cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
template <class... P, class... Arguments>
cudaError_t cudaLaunchKernelEx(
    const cudaLaunchConfig_t* config, void (*kernel)(P...), Arguments&&... arguments) {
  if (const cudaError_t error = simt::check_attributes(config); error != cudaSuccess) return error;
  return simt::launch_in_stream(config->stream, [&] {
    launch(
        kernel, config->gridDim, config->blockDim, static_cast<int>(config->dynamicSmemBytes),
        simt::Kept<P>(std::forward<Arguments>(arguments))...);
  });
}
inline cudaError_t cudaLaunchKernelExC(
    const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  if (const cudaError_t error = simt::check_attributes(config); error != cudaSuccess) return error;
  return cudaLaunchKernel(
      kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
      config->stream);
}
