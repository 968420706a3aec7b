// A whole CUDA program on the CPU: what vector_add.cu and standalone.cu call of the toolkit beyond
// simt/cuda. The Makefile writes launch(kernel, grid, block, 0, arguments) for their <<< >>>.
#pragma once

#include <cstdlib>

#include "simt/cuda/cuda_runtime.h"

// Aligned as on a GPU. Host and device are one memory here: a pointer that is mixed up goes unseen.
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  *memory = static_cast<T*>(std::aligned_alloc(kAlignment, rounded));
  if (*memory == nullptr) std::abort();
  return cudaSuccess;
}
inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

// The program's main, which on_cpu.cpp calls.
#define main cuda_main
int cuda_main();
