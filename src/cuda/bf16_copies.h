// Copies of A and B in bf16, for kernels that multiply bf16.
#pragma once

#include <cstddef>
#include <cstdint>

// Row-major, with rows that start at multiples of 16 bytes. In the memory of the GPU, or of the CPU
// that plays one, where what makes the copies is neither traced nor counted.
struct Bf16Matrix {
  const std::uint16_t* elements;
  std::uint64_t pitch_bytes;  // from one row to the next
};

class Bf16Copies {
 public:
  struct Both {
    Bf16Matrix A, B;
  };
  // The elements of A (M x K) and B (K x N), rounded to the nearest bf16, of two the even one. If
  // the copies are of these matrices already, they are not made again; else they replace the last.
  // None of M, N and K is 0. Throws a Refusal if there is no memory.
  const Both& of(const float* A, const float* B, int M, int N, int K);
  // The matrices may have other elements from now on.
  void forget() { of_ = {}; }

 private:
  struct Matrices {
    const float *A = nullptr, *B = nullptr;
    int M = 0, N = 0, K = 0;
    bool operator==(const Matrices&) const = default;
  };
  struct Memory {
    std::uint16_t* begin = nullptr;
    std::size_t bytes = 0;
  };
  static Bf16Matrix copy(const char* name, Memory& to, const float* matrix, int rows, int columns);

  Matrices of_;
  Memory A_, B_;  // kept for the next copies, until the program ends
  Both both_{};
};

inline const Bf16Copies::Both& Bf16Copies::of(const float* A, const float* B, int M, int N, int K) {
  const Matrices wanted{A, B, M, N, K};
  if (of_ == wanted) return both_;
  of_ = {};
  both_ = {copy("A", A_, A, M, K), copy("B", B_, B, K, N)};
  of_ = wanted;
  return both_;
}

namespace simt {
inline std::uint64_t bf16_pitch_bytes(int columns) {
  return (std::uint64_t{2} * columns + 15) / 16 * 16;
}
}  // namespace simt

#ifdef __NVCC__

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <string>

#include "model/refusal.h"

namespace simt {
template <class Bits>
__global__ void round_to_bf16(const float* from, long long rows, int columns, Bits* to, int pitch) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < rows * columns; i += step) {
    to[i / columns * pitch + i % columns] = __bfloat16_as_ushort(__float2bfloat16_rn(from[i]));
  }
}
}  // namespace simt

inline Bf16Matrix Bf16Copies::copy(
    const char* name, Memory& to, const float* matrix, int rows, int columns) {
  const std::uint64_t pitch_bytes = simt::bf16_pitch_bytes(columns);
  const std::size_t bytes = rows * pitch_bytes;
  if (bytes > to.bytes) {
    cudaFree(to.begin);
    to = {};
    if (cudaMalloc(&to.begin, bytes) != cudaSuccess) {
      cudaGetLastError();
      throw model::Refusal(std::string("the GPU has no memory for ") + name + " in bf16");
    }
    to.bytes = bytes;
  }
  constexpr int kBlocks = 1024, kThreads = 256;
  simt::round_to_bf16<<<kBlocks, kThreads>>>(
      matrix, rows, columns, to.begin, static_cast<int>(pitch_bytes / 2));
  return {to.begin, pitch_bytes};
}

#endif
