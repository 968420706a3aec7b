// What kernels receive besides A, B and C, or in place of A and B. A program has one of each on a
// GPU, and only one launch at a time may use it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "model/refusal.h"
#include "model/stage.h"
#include "simulator/cuda/aligned_copies.h"
#include "simulator/cuda/launch.h"
#include "simulator/cuda/tensor_map.h"

// The T of the GPU that the calling thread uses: memory belongs to one.
template <class T>
T& of_this_gpu() {
  static std::map<int, T> all;
  int gpu = 0;
  cudaGetDevice(&gpu);
  return all[gpu];
}

// Memory that launches use one after the other, until the program ends. The tracer calls it `name`.
template <class T>
class KeptMemory {
 public:
  explicit KeptMemory(const char* name) : name_(name) {}

  // It is allocated once, and again if more is needed; with `zeros`, it is 0 then. Throws a Refusal
  // with `use` if there is no memory.
  T* of(std::size_t count, bool zeros, const std::string& use) {
    if (count <= count_) return begin_;
    cudaFree(begin_);
    begin_ = nullptr;
    count_ = 0;
    if (malloc_named(&begin_, count * sizeof(T), name_) != cudaSuccess) {
      begin_ = nullptr;
      throw model::Refusal("there is no memory for " + use);
    }
    if (zeros) cudaMemset(begin_, 0, count * sizeof(T));
    count_ = count;
    return begin_;
  }

 private:
  const char* name_;
  T* begin_ = nullptr;
  std::size_t count_ = 0;
};

// The copies of A and B that the last launch made.
inline AlignedCopies& aligned_copies() {
  return of_this_gpu<AlignedCopies>();
}

// Whether every row of a matrix with that many columns starts at a multiple of 16 bytes.
inline bool rows_are_aligned(const float* matrix, int columns) {
  constexpr int kBytes = 16;
  return reinterpret_cast<std::uintptr_t>(matrix) % kBytes == 0 &&
         columns * sizeof(float) % kBytes == 0;
}

// The maps of A and B for the copy engine: in boxes of a tile of A, and of 128 bytes of each row of
// a tile of B. Where rows are not aligned, they are those of copies, made now; bf16 is always
// copied, but not again if the last launch was of the same A and B. Tf32 is rounded on its way to
// shared memory, except what mma's threads round. If K is 0, there is nothing to copy, and no map.
// Throws a Refusal.
struct OperandMaps {
  CUtensorMap A, B;
};
inline OperandMaps operand_maps(
    const model::Variant& variant, int M, int N, int K, const float* A, const float* B,
    CopyOnlyIf only_if = {}) {
  if (K == 0) return {};
  using enum model::Multiplier;
  const bool bf16 = variant.multiplier == wgmma_bf16;
  AlignedCopies::Both both{{A, sizeof(float) * K}, {B, sizeof(float) * N}};
  if (bf16) {
    both = aligned_copies().of(A, B, M, N, K, CopiedAs::bf16);
  } else if (!rows_are_aligned(A, K) || !rows_are_aligned(B, N)) {
    aligned_copies().forget();
    both = aligned_copies().of(A, B, M, N, K, CopiedAs::fp32, only_if);
  }
  const auto map = [&](const AlignedMatrix& matrix, int rows, int columns, TensorBox box,
                       bool rounds) {
    const auto element = bf16     ? TensorElement::bfloat16
                         : rounds ? TensorElement::tfloat32
                                  : TensorElement::float32;
    return tensor_map_2d(
        matrix.elements, rows, columns, matrix.pitch_bytes, box, model::Swizzle::span_128, element);
  };
  const bool tf32 = variant.multiplier == wgmma_tf32;
  return {
      map(both.A, M, K, {variant.BM, variant.BK}, tf32 || variant.multiplier == mma_tf32),
      map(both.B, K, N, {variant.BK, 128 / model::bytes_of_element(variant)}, tf32)};
}
