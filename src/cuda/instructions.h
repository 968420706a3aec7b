// Instructions of the GPU that CUDA C++ has no word for, each as a function with its name in the
// PTX ISA. On the GPU a function is that instruction. On the CPU, src/machine/tensor_cores.cpp has
// the same movement of data between the lanes of a warp, and arithmetic that loses what the
// hardware loses. All 32 lanes of the warp must call them together.
#pragma once

#ifndef __CUDACC__

// Loads four matrices of 8 rows of 16 bytes from shared memory. Lane l gives the address of row
// l % 8 of matrix l / 8. It receives word l % 4 of row l / 4 of each matrix.
void ldmatrix_x4(unsigned (&d)[4], const void* row);

// d += a * b for a (16 x 8), b (8 x 8) and d (16 x 8), which are spread over the lanes. Lane l has
//   a  (l / 4, l % 4), the same 8 rows lower, the same 4 columns to the right, and both
//   b  (l % 4, l / 4), and the same 4 rows lower
//   d  (l / 4, 2 (l % 4)) and the column after it, and the same two 8 rows lower
// a and b are tf32: floats of which the hardware ignores the last 13 bits.
void mma_m16n8k8_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]);

// Rounds to tf32, to nearest, and away from zero if two are equally near.
unsigned cvt_rna_tf32(float value);

#else

// An architecture that lacks an instruction gets a trap in its place, so that one source compiles
// for all of them. The stage's `needs` keeps a kernel that has one from being launched there.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define SIMT_SM_80(...) __trap()
#else
#define SIMT_SM_80(...) asm(__VA_ARGS__)
#define SIMT_SM_80_V(...) asm volatile(__VA_ARGS__)
#endif

__device__ __forceinline__ void ldmatrix_x4(unsigned (&d)[4], const void* row) {
  SIMT_SM_80_V("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
             : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
             : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
             : "memory");
}

__device__ __forceinline__ void mma_m16n8k8_tf32(
    float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  SIMT_SM_80(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ unsigned cvt_rna_tf32(float value) {
  unsigned rounded = 0;
  SIMT_SM_80("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
  return rounded;
}

#undef SIMT_SM_80

#endif
