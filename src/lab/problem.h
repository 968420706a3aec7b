// The product to compute: its sizes, factors and matrices.
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

// A NaN that no computation produces, unless its input already contains it.
inline const float kCanary = std::bit_cast<float>(0x7fc0c0deu);

// A function that computes a product: a stage's variant, a user's sgemm, cuBLAS.
using Gemm = std::function<model::Kernel>;

// The kernel of `variant` in that copy of the table, launched as for a GPU with `sms` SMs; with 0,
// no tile is cut. Table and variant must outlive it.
Gemm gemm_of(const model::StageTable& table, const model::Variant& variant, int sms = 0);
// The same once more, after that, with the same elements of A and B.
Gemm gemm_again_of(const model::StageTable& table, const model::Variant& variant, int sms = 0);

// What a product launches that was asked for from one variant (model::launched).
struct Launched {
  const model::KernelRef& kernel;
  const model::Variant& variant;
  bool aligned;  // rows of A, B and C are 16-byte aligned
};

struct Problem {
  int M, N, K;
  float alpha, beta;
  Floats A, B;
  // C before the product. All elements are kCanary if beta is 0, so that a kernel's read of C
  // becomes visible.
  Floats C;
  // The number of floats before each matrix's first element, used to misalign the matrices.
  std::size_t lead = 0;

  std::size_t results() const { return static_cast<std::size_t>(M) * N; }
  // A product that does not change C need not write it.
  bool must_be_written() const { return beta != 1 || (alpha != 0 && K > 0); }

  // The matrices that a traced kernel receives. It computes into `result`, which has the size of C.
  std::vector<machine::GlobalArray> arrays(const Floats& result) const;
  // A function that computes the product into `result`; the problem and `result` must outlive it.
  std::function<void()> product_by(Gemm gemm, Floats& result) const;
  // Which of the variant's kernels computes the product, or which other variant's.
  Launched launched(const model::StageTable& table, const model::Variant& variant) const;
};

// Random A and B, and a random old C if it is read.
Problem random_problem(
    ProblemSize sides, float alpha, float beta, std::uint64_t seed, std::size_t lead = 0);

// What there must be memory for besides A, B and C.
enum class Kept {
  results,  // more C, an fp64 reference, and with a GPU also A, B and C on it
  matrices  // nothing
};

// A and B as requested, random or from files, and the old C. Throws a Refusal if there is not
// enough memory, or if the shapes in the files do not match.
Problem load_problem(const Request& request, bool on_gpu, Kept kept = Kept::results);

}  // namespace lab
