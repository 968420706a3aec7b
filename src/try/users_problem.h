// The function of a user's file, and the product that it computes, in matrices of its own types.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "model/error.h"
#include "simulator/programs.h"

// Under the names of its copies (try.sh renames them).
// C (M x N) = alpha * A (M x K) * B (K x N) + beta * C, row-major.
using Sgemm =
    void(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C);
[[gnu::weak]] Sgemm sgemm_traced, sgemm_plain;  // null if the file is a whole program
// Only if the file's sgemm has other parameters. The matrices that it gets are of these types.
extern "C" [[gnu::weak]] simt::SgemmParameters simt_sgemm_parameters;
[[gnu::weak]] Sgemm sgemm_gpu;  // null if nvcc did not compile it

namespace attempt {

// The numbers of a problem, which are representable in the types of the user's matrices.
class UsersProblem : public lab::Problem {
 public:
  // Throws a Refusal if alpha or beta has another value than 1 and 0 and sgemm lacks it.
  explicit UsersProblem(lab::Problem problem);

  // As those of lab::Problem, with the matrices that the kernel receives. Of a narrower C, `result`
  // has the values when the product has ended.
  std::vector<machine::GlobalArray> arrays(const lab::Floats& result) const;
  std::function<void()> product_by(Sgemm* sgemm, lab::Floats& result) const;

  // Checked by the bound of sums in fp32 and, if C is narrower and these are not, of sums in its
  // type.
  model::Error compare(const lab::Reference& reference, const lab::Floats& result) const;

  // "half", or "bf16 and fp32" if C's type is another.
  std::string types() const;

  // The bound of a product that is not of floats, as a sentence; empty for floats.
  std::string bound_sentence(const lab::Reference& reference, const lab::Floats& result) const;

 private:
  using Narrow = std::vector<std::uint16_t, lab::Guarded<std::uint16_t>>;
  model::Precision precision(bool narrow_sums) const;
  bool needs_narrow_sums(const lab::Reference& reference, const lab::Floats& result) const;

  simt::SgemmParameters types_;
  Narrow narrow_A_, narrow_B_;
  mutable Narrow narrow_C_;  // the product's result
};

}  // namespace attempt
