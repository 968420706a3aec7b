// Copies of A and B for the copy engine and for cuBLAS with bf16, which need rows that start at
// multiples of 16 bytes: as they are, or rounded to bf16.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/cuda/only_if.h"

// Row-major. It is in the memory of the GPU, or of the CPU that plays one. There, making it is
// neither traced nor counted.
struct AlignedMatrix {
  const void* elements;
  std::uint64_t pitch_bytes;  // from one row to the next
};

enum class CopiedAs { fp32, bf16 };

// One program has both machines, so their classes have different names.
#if defined(__NVCC__) && !defined(SIMT_REWRITTEN)
inline namespace on_gpu {
#else
inline namespace on_cpu {
#endif

class AlignedCopies {
 public:
  struct Both {
    AlignedMatrix A, B;
  };
  // A (M x K) and B (K x N); bf16 is rounded to nearest, of two to the even one. If the copies are
  // of these matrices already, they are not made again; else they replace the last. None of M, N
  // and K is 0. If `only_if` does not hold, there is memory for the copies, but nothing in it.
  // Throws a Refusal if there is no memory.
  const Both& of(
      const float* A, const float* B, int M, int N, int K, CopiedAs as, OnlyIf only_if = {});
  // The matrices may have other elements from now on.
  void forget() { of_ = {}; }

 private:
  struct Matrices {
    const float *A = nullptr, *B = nullptr;
    int M = 0, N = 0, K = 0;
    CopiedAs as = CopiedAs::fp32;
    bool operator==(const Matrices&) const = default;
  };
  struct Memory {
    void* begin = nullptr;
    std::size_t bytes = 0;
  };
  static std::uint64_t pitch_bytes(int columns, CopiedAs as) {
    return (std::uint64_t{as == CopiedAs::bf16 ? 2u : 4u} * columns + 15) / 16 * 16;
  }
  // Defined in src/lab/gpu/ and in src/simulator/machine/.
  static AlignedMatrix copy(
      const char* name, Memory& to, const float* matrix, int rows, int columns, CopiedAs as,
      OnlyIf only_if);

  Matrices of_;
  Memory A_, B_;  // kept for the next copies, until the program ends
  Both both_{};
};

inline const AlignedCopies::Both& AlignedCopies::of(
    const float* A, const float* B, int M, int N, int K, CopiedAs as, OnlyIf only_if) {
  const Matrices wanted{A, B, M, N, K, as};
  if (of_ == wanted) return both_;
  of_ = {};
  both_ = {copy("A", A_, A, M, K, as, only_if), copy("B", B_, B, K, N, as, only_if)};
  of_ = wanted;
  return both_;
}

}  // namespace
