#include "try/users_problem.h"

#include <bit>
#include <utility>

#include "model/refusal.h"
#include "model/tensor_core.h"

namespace attempt {
namespace {

using simt::Element;

// NaNs that no computation produces: what kCanary is in C.
constexpr std::uint16_t kHalfCanary = 0x7dba, kBf16Canary = 0x7fba;

model::NarrowFormat format_of(Element element) {
  return element == Element::half ? model::kFp16 : model::kBfloat16;
}

std::uint16_t narrowed(float value, Element element) {
  if (std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(lab::kCanary)) {
    return element == Element::half ? kHalfCanary : kBf16Canary;
  }
  return model::narrowed(value, format_of(element));
}

float widened(std::uint16_t bits, Element element) {
  if (bits == (element == Element::half ? kHalfCanary : kBf16Canary)) return lab::kCanary;
  return model::widened(bits, format_of(element));
}

// Rounds the matrix to a narrower type. Nothing for fp32.
template <class Narrow>
Narrow rounded(lab::Floats& matrix, Element element) {
  if (element == Element::fp32) return {};
  Narrow narrow(matrix.size());
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    narrow[i] = narrowed(matrix[i], element);
    matrix[i] = widened(narrow[i], element);
  }
  return narrow;
}

const char* name_of(Element element) {
  return element == Element::fp32 ? "fp32" : element == Element::half ? "half" : "bf16";
}

double unit_roundoff(Element element) {
  return element == Element::half ? 0x1p-11 : 0x1p-8;
}

}  // namespace

UsersProblem::UsersProblem(lab::Problem problem)
    : lab::Problem(std::move(problem)),
      types_{Element::fp32, Element::fp32, Element::fp32, true, true} {
  if (&simt_sgemm_parameters != nullptr) types_ = simt_sgemm_parameters;
  if (!types_.has_alpha && alpha != 1) {
    throw model::Refusal("--alpha: the file's sgemm has no alpha; leave it out");
  }
  if (!types_.has_beta && beta != 0) {
    throw model::Refusal("--beta: the file's sgemm has no beta; leave it out");
  }
  narrow_A_ = rounded<Narrow>(A, types_.A);
  narrow_B_ = rounded<Narrow>(B, types_.B);
  narrow_C_ = rounded<Narrow>(C, types_.C);
}

std::vector<machine::GlobalArray> UsersProblem::arrays(const lab::Floats& result) const {
  std::vector<machine::GlobalArray> arrays = lab::Problem::arrays(result);
  const Narrow* const narrow[] = {&narrow_A_, &narrow_B_, &narrow_C_};
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (narrow[i]->empty()) continue;
    arrays[i].data = narrow[i]->data() + lead;
    arrays[i].bytes = (narrow[i]->size() - lead) * sizeof(std::uint16_t);
  }
  return arrays;
}

std::function<void()> UsersProblem::product_by(Sgemm* sgemm, lab::Floats& result) const {
  return [this, sgemm, &result] {
    // simt_sgemm casts them back.
    const auto of = [this](const lab::Floats& floats, const Narrow& narrow) {
      return narrow.empty() ? floats.data() + lead
                            : reinterpret_cast<const float*>(narrow.data() + lead);
    };
    for (std::size_t i = 0; i < narrow_C_.size(); ++i) narrow_C_[i] = narrowed(result[i], types_.C);
    float* const users_C = narrow_C_.empty() ? result.data() + lead
                                             : reinterpret_cast<float*>(narrow_C_.data() + lead);
    sgemm(M, N, K, alpha, of(A, narrow_A_), of(B, narrow_B_), beta, users_C);
    for (std::size_t i = 0; i < narrow_C_.size(); ++i) result[i] = widened(narrow_C_[i], types_.C);
  };
}

model::Precision UsersProblem::precision(bool narrow_sums) const {
  const bool floats = types_.A == Element::fp32 && types_.B == Element::fp32;
  // Tensor cores multiply narrow matrices; see model::kTf32.
  model::Precision precision{0, floats ? 0x1p-24 : 0x1p-23};
  if (types_.C == Element::fp32) return precision;
  precision.u_out = unit_roundoff(types_.C);
  const bool half = types_.C == Element::half;
  precision.smallest_out = half ? 0x1p-24 : 0x1p-133;
  precision.largest_out = half ? 65504 : model::widened(0x7f7f, model::kBfloat16);
  if (narrow_sums) precision.u_acc = precision.u_out;
  return precision;
}

bool UsersProblem::needs_narrow_sums(
    const lab::Reference& reference, const lab::Floats& result) const {
  if (types_.C == Element::fp32 || K * unit_roundoff(types_.C) >= 1) return false;
  return !lab::compare(*this, reference, result, M, precision(false)).bound_ok &&
         lab::compare(*this, reference, result, M, precision(true)).bound_ok;
}

model::Error UsersProblem::compare(
    const lab::Reference& reference, const lab::Floats& result) const {
  return lab::compare(*this, reference, result, M, precision(needs_narrow_sums(reference, result)));
}

std::string UsersProblem::types() const {
  std::string types;
  Element before{};
  for (const Element element : {types_.A, types_.B, types_.C}) {
    if (!types.empty() && element == before) continue;
    types += (types.empty() ? "" : " and ") + std::string(name_of(element));
    before = element;
  }
  return types;
}

std::string UsersProblem::bound_sentence(
    const lab::Reference& reference, const lab::Floats& result) const {
  if (types_.A == Element::fp32 && types_.B == Element::fp32 && types_.C == Element::fp32)
    return "";
  const bool narrow_sums = needs_narrow_sums(reference, result);
  const std::string in = types_.A == types_.B
                             ? std::string(name_of(types_.A))
                             : std::string(name_of(types_.A)) + " and " + name_of(types_.B);
  return "Checked by the error bound for A and B in " + in + ", sums in " +
         (narrow_sums ? name_of(types_.C) : "fp32") + " and C in " + name_of(types_.C) + ".";
}

}  // namespace attempt
