// The product to compute: its sides, its factors and its matrices.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "lab/matrices.h"
#include "lab/request.h"
#include "machine/grid.h"
#include "model/stage.h"

namespace lab {

// A NaN that no computation gives, unless one is already among what it reads.
inline const float kCanary = std::bit_cast<float>(0x7fc0c0deu);

// What computes a product: a stage's variant, somebody's sgemm, cuBLAS.
using Gemm = std::function<model::Kernel>;

// By `variant` of that copy of the table. Both must outlive it.
Gemm gemm_of(const model::StageTable& table, const model::Variant& variant);

struct Problem {
  int M, N, K;
  float alpha, beta;
  Floats A, B;
  // Before the product; all kCanary where beta is 0, so that a kernel that reads it shows.
  Floats C;
  // Floats in front of each matrix's first element, so that it is not as aligned as it could be.
  std::size_t lead = 0;

  std::size_t results() const { return static_cast<std::size_t>(M) * N; }
  // A product that leaves C as it is need not write it.
  bool must_be_written() const { return beta != 1 || (alpha != 0 && K > 0); }

  // The matrices as a traced kernel finds them, which computes into `result`, as long as C.
  std::vector<machine::GlobalArray> arrays(const Floats& result) const;
  // Computes the product into `result` when it is called; the problem and `result` must outlive it.
  std::function<void()> product_by(Gemm gemm, Floats& result) const;
  // Which of the variant's kernels computes it.
  const model::KernelRef& kernel_of(
      const model::StageTable& table, const model::Variant& variant) const;
};

// Random A and B, and a random old C where it is read.
Problem random_problem(
    ProblemSize sides, float alpha, float beta, std::uint64_t seed, std::size_t lead = 0);

// A and B as asked for, random or from files, and the old C. Throws Refusal where there is not
// enough memory, on the GPU either if `on_gpu`, or where files do not fit together.
Problem load_problem(const Request& request, bool on_gpu);

}  // namespace lab
