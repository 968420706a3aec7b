// Instructions of the GPU that CUDA C++ has no word for, each as a function with its name in the
// PTX ISA. On the GPU, a function is that instruction. On the CPU
// (src/simulator/machine/tensor_cores.cpp) it has the same movement of data between the lanes of a
// warp, and arithmetic that loses what the hardware loses. All 32 lanes of a warp must call
// ldmatrix, or mma, together.
#pragma once

#ifndef __NVCC__

#include <cstddef>

#include "simulator/cuda/vector_types.h"

namespace simt {
void cp_async(void* shared, const void* global, std::size_t bytes, bool zeros);
}

// Starts to copy 4, 8 or 16 bytes from global to shared memory, or to fill them with zeros; then it
// reads nothing. __pipeline_memcpy_async does the same, but where only some lanes fill, nvcc makes
// two instructions of it.
template <int bytes>
SIMT_ALWAYS_INLINE inline void cp_async(void* shared, const void* global, bool zeros) {
  simt::cp_async(shared, global, bytes, zeros);
}

// Loads four matrices of 8 rows of 16 bytes from shared memory. Lane l gives the address of row
// l % 8 of matrix l / 8. It receives word l % 4 of row l / 4 of each matrix.
void ldmatrix_x4(unsigned (&d)[4], const void* row);

// d += a * b for matrices of 16 x 8, 16 x 8 and 8 x 8 elements, which the lanes hold together.
// (row, column) of the elements of lane l:
//   a[0]  (l / 4, l % 4)         a[1]  8 rows down   a[2]  4 columns right   a[3]  both
//   b[0]  (l % 4, l / 4)         b[1]  4 rows down
//   d[0]  (l / 4, 2 * (l % 4))   d[1]  1 column right   d[2]  8 rows down   d[3]  both
// a and b are tf32: floats of which the hardware ignores the last 13 bits.
void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

// Rounds to the nearest tf32; of two that are equally near, to the one away from zero.
unsigned cvt_rna_tf32(float value);

#else

#include <cuda_pipeline.h>

// On an older GPU a trap replaces the instruction. A kernel with it is not launched there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SIMT_PTX(...) __trap()
__device__ __forceinline__ int __reduce_max_sync(unsigned, int value) {
  __trap();
  return value;
}
__device__ __forceinline__ int __reduce_add_sync(unsigned, int value) {
  __trap();
  return value;
}
#else
#define SIMT_PTX(...) asm(__VA_ARGS__)
#endif

template <int bytes>
__device__ __forceinline__ void cp_async(void* shared, const void* global, bool zeros) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // a load and a store there
  __pipeline_memcpy_async(shared, global, bytes, zeros ? bytes : 0);
#else
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int copied = zeros ? 0 : bytes;
  if constexpr (bytes == 16) {  // past L1, as <cuda_pipeline.h> has it
    SIMT_PTX("cp.async.cg.shared.global [%0], [%1], 16, %2;"
             :
             : "r"(address), "l"(global), "r"(copied)
             : "memory");
  } else {
    SIMT_PTX("cp.async.ca.shared.global [%0], [%1], %2, %3;"
             :
             : "r"(address), "l"(global), "n"(bytes), "r"(copied)
             : "memory");
  }
#endif
}

__device__ __forceinline__ void ldmatrix_x4(unsigned (&d)[4], const void* row) {
  [[maybe_unused]] const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  // It reads what other code stores to memory.
  SIMT_PTX("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
           : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
           : "r"(address)
           : "memory");
}

__device__ __forceinline__ void mma_m16n8k8_tf32(
    float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  SIMT_PTX(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ unsigned cvt_rna_tf32(float value) {
  unsigned rounded = 0;
  SIMT_PTX("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

#undef SIMT_PTX

#endif
