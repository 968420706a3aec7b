// Instructions that compute with integers and real numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "machine/ptx/instruction.h"
#include "model/tensor_core.h"

namespace machine::ptx {
namespace {

using Values = std::span<const std::uint64_t>;
__extension__ using Wide = __int128;

// Real numbers. An f16 or bf16 result is rounded once: its operation is exact as a double, or
// nearly so.
template <class T>
T prepared(const Instruction& i, T value) {
  return i.flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(T{0}, value) : value;
}

template <class T>
T finished(const Instruction& i, T value) {
  value = prepared(i, value);
  if (i.saturates) value = std::isnan(value) ? T{0} : std::clamp(value, T{0}, T{1});
  if (i.relu && value < 0) value = 0;
  return value;
}

// -0 is less than +0, and a NaN is not chosen. PTX ISA 9.0, "min".
template <class T>
T smaller(T a, T b) {
  return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
}
template <class T>
T larger(T a, T b) {
  return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
}

template <class Operation>
std::uint64_t real_element(const Instruction& i, Values in, int shift, Operation operation) {
  const auto of = [&](std::size_t k) { return k < in.size() ? in[k] >> shift : 0; };
  if (i.type.bits == 64) {
    const auto value = [&](std::size_t k) { return std::bit_cast<double>(of(k)); };
    return std::bit_cast<std::uint64_t>(finished(i, operation(value(0), value(1), value(2))));
  }
  if (i.type.bits == 32) {
    const auto value = [&](std::size_t k) {
      return prepared(i, std::bit_cast<float>(static_cast<std::uint32_t>(of(k))));
    };
    return std::bit_cast<std::uint32_t>(finished(i, operation(value(0), value(1), value(2))));
  }
  const double result = finished(
      i, static_cast<double>(operation(
             real_value(i.type, of(0)), real_value(i.type, of(1)), real_value(i.type, of(2)))));
  const model::NarrowFormat format = i.type.base == Base::bf16 ? model::kBfloat16 : model::kFp16;
  return model::rounded_to(format, result, model::Toward::nearest);
}

template <class Operation>
std::uint64_t real(const Instruction& i, Values in, Operation operation) {
  const std::uint64_t first = real_element(i, in, 0, operation);
  return i.type.packed == 1 ? first : first | real_element(i, in, 16, operation) << 16;
}

#define REAL(name, expression)                                                        \
  std::uint64_t name(const Instruction& i, Values in) {                               \
    return real(i, in, [](auto a, [[maybe_unused]] auto b, [[maybe_unused]] auto c) { \
      return expression;                                                              \
    });                                                                               \
  }
REAL(real_add, a + b)
REAL(real_sub, a - b)
REAL(real_mul, a* b)
REAL(real_div, a / b)
REAL(real_fma, std::fma(a, b, c))
REAL(real_abs, std::fabs(a))
REAL(real_neg, -a)
REAL(real_min, smaller(a, b))
REAL(real_max, larger(a, b))
REAL(real_sqrt, std::sqrt(a))
REAL(real_rcp, 1 / a)
REAL(real_rsqrt, 1 / std::sqrt(a))
REAL(real_ex2, std::exp2(a))
REAL(real_lg2, std::log2(a))
REAL(real_sin, std::sin(a))
REAL(real_cos, std::cos(a))
REAL(real_tanh, std::tanh(a))
#undef REAL

// What min and max give if NaN operands are to survive.
std::uint64_t real_min_nan(const Instruction& i, Values in) {
  return real(
      i, in, [](auto a, auto b, auto) { return std::isnan(a + b) ? a + b : smaller(a, b); });
}
std::uint64_t real_max_nan(const Instruction& i, Values in) {
  return real(i, in, [](auto a, auto b, auto) { return std::isnan(a + b) ? a + b : larger(a, b); });
}

// Integers. Signed and unsigned ones differ only where a value gets more bits.
Wide widened(Type type, std::uint64_t bits) {
  return type.base == Base::signed_ ? Wide{signed_value(type, bits)}
                                    : Wide{unsigned_value(type, bits)};
}

std::uint64_t narrowed(Type type, Wide value) {
  return unsigned_value(type, static_cast<std::uint64_t>(value));
}

std::uint64_t saturated(const Instruction& i, Wide value) {
  if (!i.saturates) return narrowed(i.type, value);
  const Wide most = (Wide{1} << (i.type.bits - 1)) - 1;
  return narrowed(i.type, std::clamp(value, -most - 1, most));
}

template <class Operation>
std::uint64_t integer(const Instruction& i, Values in, Operation operation) {
  const auto of = [&](std::size_t k) { return k < in.size() ? widened(i.type, in[k]) : Wide{0}; };
  return saturated(i, operation(of(0), of(1), of(2)));
}

std::uint64_t add(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return a + b; });
}
std::uint64_t sub(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return a - b; });
}
// The product of 64-bit numbers fits into 128 bits.
std::uint64_t mul_lo(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] * in[1] + (in.size() > 2 ? in[2] : 0));
}
std::uint64_t mul_hi(const Instruction& i, Values in) {
  __extension__ using UnsignedWide = unsigned __int128;
  const std::uint64_t high =
      i.type.base == Base::signed_
          ? static_cast<std::uint64_t>(
                (widened(i.type, in[0]) * widened(i.type, in[1])) >> i.type.bits)
          : static_cast<std::uint64_t>(
                (UnsignedWide{unsigned_value(i.type, in[0])} * unsigned_value(i.type, in[1])) >>
                i.type.bits);
  return unsigned_value(i.type, high + (in.size() > 2 ? in[2] : 0));
}
std::uint64_t mul_wide(const Instruction& i, Values in) {
  const Type wide{i.type.base, static_cast<std::uint8_t>(2 * i.type.bits)};
  const Wide product = widened(i.type, in[0]) * widened(i.type, in[1]);
  return narrowed(wide, product + (in.size() > 2 ? widened(wide, in[2]) : Wide{0}));
}
std::uint64_t div(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return b == 0 ? Wide{-1} : a / b; });
}
std::uint64_t rem(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return b == 0 ? a : a % b; });
}
std::uint64_t abs(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide, Wide) { return a < 0 ? -a : a; });
}
std::uint64_t neg(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide, Wide) { return -a; });
}
std::uint64_t min(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return std::min(a, b); });
}
std::uint64_t max(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide) { return std::max(a, b); });
}
std::uint64_t sad(const Instruction& i, Values in) {
  return integer(i, in, [](Wide a, Wide b, Wide c) { return c + (a < b ? b - a : a - b); });
}

// Four products of bytes, and the sum; `type` is that of the first factor, `from` of the second.
std::uint64_t dp4a(const Instruction& i, Values in) {
  std::uint64_t sum = in[2];
  for (int byte = 0; byte < 4; ++byte) {
    const auto of = [&](bool is_signed, std::uint64_t word) {
      const Type type{is_signed ? Base::signed_ : Base::unsigned_, 8};
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(widened(type, word >> 8 * byte)));
    };
    sum += of((i.option & 1) != 0, in[0]) * of((i.option & 2) != 0, in[1]);
  }
  return static_cast<std::uint32_t>(sum);
}

bool decode_dp4a(Instruction& i, Modifiers& modifiers) {
  Type a, b;
  if (!modifiers.take_type(a) || !modifiers.take_type(b) || !has_operands(i, 1, 3)) return false;
  i.option = (a.base == Base::signed_ ? 1u : 0u) | (b.base == Base::signed_ ? 2u : 0u);
  i.type = {Base::bits, 32};
  compute(i, dp4a);
  return true;
}

struct Operation {
  std::string_view opcode;
  std::size_t inputs;
  Evaluate *of_integers, *of_reals;
};
constexpr Operation kOperations[] = {
    {"add", 2, add, real_add},         {"sub", 2, sub, real_sub},
    {"mul", 2, mul_lo, real_mul},      {"mad", 3, mul_lo, real_fma},
    {"fma", 3, nullptr, real_fma},     {"div", 2, div, real_div},
    {"rem", 2, rem, nullptr},          {"abs", 1, abs, real_abs},
    {"neg", 1, neg, real_neg},         {"min", 2, min, real_min},
    {"max", 2, max, real_max},         {"sad", 3, sad, nullptr},
    {"sqrt", 1, nullptr, real_sqrt},   {"rcp", 1, nullptr, real_rcp},
    {"rsqrt", 1, nullptr, real_rsqrt}, {"ex2", 1, nullptr, real_ex2},
    {"lg2", 1, nullptr, real_lg2},     {"sin", 1, nullptr, real_sin},
    {"cos", 1, nullptr, real_cos},     {"tanh", 1, nullptr, real_tanh}};

bool decode_operation(Instruction& i, Modifiers& modifiers) {
  const Operation* const operation = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& known) { return known.opcode == i.line.opcode; });
  if (!modifiers.take_type(i.type) || !has_operands(i, 1, operation->inputs)) return false;
  Evaluate* evaluate = operation->of_integers;
  i.flushes = modifiers.take("ftz");
  i.saturates = modifiers.take("sat");
  if (i.type.is_real()) {
    evaluate = operation->of_reals;
    // Only the nearest result is known here; an approximation is at least as near.
    modifiers.take_any({"rn", "approx", "full"});
    modifiers.take("noftz");
    i.relu = modifiers.take("relu");
    if (modifiers.take("NaN")) {
      if (evaluate != real_min && evaluate != real_max) return false;
      evaluate = evaluate == real_min ? real_min_nan : real_max_nan;
    }
  } else {
    if (i.type.packed != 1 || i.type.base == Base::bits || i.type.base == Base::predicate)
      return false;
    if (evaluate == mul_lo) {
      const int part = modifiers.take_one_of({"lo", "hi", "wide"});
      if (part < 0 || (part == 2 && i.type.bits > 32) || i.saturates) return false;
      if (part == 1) evaluate = mul_hi;
      if (part == 2) evaluate = mul_wide;
    }
    if (i.saturates && i.type.base != Base::signed_) return false;
  }
  if (evaluate == nullptr || i.type.base == Base::tf32) return false;
  compute(i, evaluate);
  return true;
}

}  // namespace

std::span<const Family> arithmetic() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all{{"dp4a", decode_dp4a}};
    for (const Operation& operation : kOperations) {
      all.push_back({operation.opcode, decode_operation});
    }
    return all;
  }();
  return families;
}

}  // namespace machine::ptx
