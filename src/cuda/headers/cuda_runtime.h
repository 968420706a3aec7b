// The functions that host code around a kernel calls most, for builds without the toolkit.
#pragma once

#include <cstring>

#include "cuda/cpu.h"

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 };
using cudaStream_t = struct CUstream_st*;
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
inline constexpr int cudaSharedmemCarveoutMaxShared = 100;

inline const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
  }
  return "unknown error";
}

// The GPU's memory is the CPU's. These are macros so that the array can get the pointer's name.
#define cudaMalloc(pointer, bytes) simt_cuda_malloc(pointer, bytes, #pointer)
#define cudaMallocManaged(pointer, bytes) simt_cuda_malloc(pointer, bytes, #pointer)
template <class T>
__forceinline__ cudaError_t simt_cuda_malloc(T** pointer, std::size_t bytes, const char* argument) {
  *pointer = static_cast<T*>(simt::device_malloc(bytes, argument));
  return *pointer == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  return simt::device_free(memory) ? cudaSuccess : cudaErrorInvalidValue;
}

// A launch is complete when launch() returns, and its errors have been reported by then.
inline cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaPeekAtLastError() {
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(to, value, bytes);
}
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes) {
  std::memcpy(static_cast<void*>(&symbol), from, bytes);
  return cudaSuccess;
}
