// Copies of A and B in bf16, for kernels that multiply bf16.
#pragma once

#include <cstddef>
#include <cstdint>

// Row-major, with rows that start at multiples of 16 bytes. They are in the memory of the GPU, or
// of the CPU that plays one. There, making the copies is neither traced nor counted.
struct Bf16Matrix {
  const std::uint16_t* elements;
  std::uint64_t pitch_bytes;  // from one row to the next
};

// One program has both machines, so their classes have different names.
#ifdef __NVCC__
inline namespace on_gpu {
#else
inline namespace on_cpu {
#endif

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
  static std::uint64_t pitch_bytes(int columns) {
    return (std::uint64_t{2} * columns + 15) / 16 * 16;
  }
  // Defined in src/lab/gpu/ and in src/simulator/machine/.
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

}  // namespace
