// What kernels receive besides A, B and C, or in place of A and B. A program has one of each on a
// GPU, and only one launch at a time may use it.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "model/refusal.h"
#include "model/stage.h"
#include "simulator/cuda/aligned_copies.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"

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

// Memory in which the blocks of stage 11 leave sums for one another: at most two tiles per SM. Only
// one launch at a time may use it.
struct SumsInMemory {
  float* sums;
  unsigned* arrived;  // 0 before and after a launch
};
inline SumsInMemory sums_in_memory(const model::Task& task) {
  static KeptMemory<float> sums{"sums"};
  static KeptMemory<unsigned> arrived{"arrived"};
  const model::ShareOut shares = share_out(task);
  const int tiles = model::tiles_of(task.variant, task.M, task.N), cut = tiles - shares.whole;
  const std::string use = "the sums of " + std::to_string(cut) + " tiles in slices";
  return {
      sums.of(model::floats_of_sums(shares, task.variant, tiles), /*zeros=*/false, use),
      arrived.of(cut, /*zeros=*/true, use)};
}

// How a kernel with maps finds its slice of K, if K is cut: each `rows` rows of what it computes
// are the sums of a slice, and the next slice is `slice_K` further along K.
struct SlicesOfK {
  int rows = INT_MAX, slice_K = 0;
};

// The copies of A and B that the last launch made.
inline AlignedCopies& aligned_copies() {
  return of_this_gpu<AlignedCopies>();
}

// Throws a Refusal if a kernel could not number the rows or columns of its last tile.
inline void refuse_too_large(int M, int N, int K) {
  constexpr int kLargest = INT_MAX - 1023;
  if (const int largest = std::max({M, N, K}); largest > kLargest) {
    throw model::Refusal(
        "a dimension of " + std::to_string(largest) + " is too large; the most is " +
        std::to_string(kLargest));
  }
}

// The maps of A and B for the copy engine: in boxes of a tile of A, and of 128 bytes of each row of
// a tile of B. Where rows are not aligned, they are those of copies, made now; bf16 is always
// copied, but not again if the last launch was of the same A and B. Tf32 is rounded on its way to
// shared memory, except what mma's threads round. If K is 0, there is nothing to copy, and no map.
// Throws a Refusal.
struct OperandMaps {
  CUtensorMap A, B;
};
inline OperandMaps operand_maps(const model::Task& task, const OnlyIf& only_if) {
  const auto& [variant, sms, M, N, K, alpha, A, B, beta, C, makes] = task;
  if (K == 0) return {};
  using enum model::Multiplier;
  const bool bf16 = variant.multiplier == wgmma_bf16;
  AlignedCopies::Both both{{A, sizeof(float) * K}, {B, sizeof(float) * N}};
  if (bf16) {
    both = aligned_copies().of(A, B, M, N, K, CopiedAs::bf16);
  } else if (!model::rows_are_aligned(A, K) || !model::rows_are_aligned(B, N)) {
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

// Copies of A and B in parts, for stages 18 to 21: a line for each row of A and column of B, in
// blocks of `piece` lines, each with 2 piece halves for `piece` elements along K. A launch that
// judges them uses one of two words for its doubts and sets the other to 0, for the next such
// launch. A third word stays 0, for all other launches.
struct Parts {
  __half2* lines;
  float *units_A, *units_B;
  unsigned *doubts, *next_doubts;
};

inline int pieces_of(int count, int piece) {
  return (count + piece - 1) / piece;
}

// Where the doubts of the last launch are; null if it does not multiply parts.
inline const unsigned*& last_doubts() {
  static const unsigned* doubts = nullptr;
  return doubts;
}
// Waits for that launch. 0 if there are none.
inline unsigned doubts_of_last_launch() {
  unsigned doubts = 0;
  if (last_doubts() != nullptr) {
    cudaMemcpy(&doubts, last_doubts(), sizeof doubts, cudaMemcpyDeviceToHost);
  }
  return doubts;
}

inline Parts parts_in_memory(const model::Task& task, int piece) {
  struct Memory {
    KeptMemory<__half2> lines{"lines"};
    KeptMemory<float> units_A{"units_A"}, units_B{"units_B"};
    KeptMemory<unsigned> doubts{"doubts"};
    int launches = 0;
  };
  auto& [lines, units_A, units_B, doubts, launches] = of_this_gpu<Memory>();
  const std::string use = "A and B in parts";
  const std::size_t pieces = pieces_of(task.K, piece),
                    blocks = pieces_of(task.M, piece) + pieces_of(task.N, piece);
  const bool judges = task.variant.stand_in != nullptr && task.K > 0;
  const int now = judges ? ++launches % 2 : 2;
  unsigned* const words = doubts.of(3, /*zeros=*/true, use);
  last_doubts() = &words[now];
  return {
      lines.of(piece * piece * blocks * pieces, /*zeros=*/false, use),
      units_A.of(pieces * task.M, /*zeros=*/false, use), units_B.of(task.N, /*zeros=*/false, use),
      &words[now], judges ? &words[1 - now] : nullptr};
}

// The maps of the lines of A and of those of B, in boxes of 128 bytes of each line of a tile.
inline OperandMaps maps_of_lines(__half2* lines, const model::Task& task, int piece) {
  if (task.K == 0) return {};
  const std::uint64_t length = std::uint64_t{2} * piece * pieces_of(task.K, piece);
  const auto map = [&](int first_block, int count, int lines_of_box) {
    return tensor_map_2d(
        lines + piece * first_block * length / 2, count, length, 2 * length, {lines_of_box, 64},
        model::Swizzle::span_128, TensorElement::float16);
  };
  return {map(0, task.M, task.variant.BM), map(pieces_of(task.M, piece), task.N, task.variant.BN)};
}
