// Instructions that compute with integers and real numbers.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "model/tensor_core.h"
#include "simulator/machine/ptx/instruction.h"

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

// The result of min and max that propagate NaN.
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

namespace {

// Instructions that move and combine bits.

using Values = std::span<const std::uint64_t>;

std::uint64_t bitwise_and(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] & in[1]);
}
std::uint64_t bitwise_or(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] | in[1]);
}
std::uint64_t bitwise_xor(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] ^ in[1]);
}
std::uint64_t bitwise_not(const Instruction& i, Values in) {
  return i.type.base == Base::predicate ? in[0] == 0 : unsigned_value(i.type, ~in[0]);
}
std::uint64_t is_zero(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0]) == 0;
}

// A shift by more than the width leaves only the bits that are shifted in.
std::uint64_t shift_left(const Instruction& i, Values in) {
  const auto places = static_cast<std::uint32_t>(in[1]);
  return places >= i.type.bits ? 0 : unsigned_value(i.type, in[0] << places);
}
std::uint64_t shift_right(const Instruction& i, Values in) {
  const std::uint32_t places =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(in[1]), i.type.bits);
  if (i.type.base == Base::signed_) {
    const int most = std::min<int>(static_cast<int>(places), 63);
    return unsigned_value(i.type, static_cast<std::uint64_t>(signed_value(i.type, in[0]) >> most));
  }
  return places >= i.type.bits ? 0 : unsigned_value(i.type, in[0]) >> places;
}

enum FunnelOption : std::uint32_t { kWraps = 1, kRight = 2 };
std::uint64_t funnel_shift(const Instruction& i, Values in) {
  const auto shift = static_cast<std::uint32_t>(in[2]);
  const std::uint32_t places = (i.option & kWraps) != 0 ? shift & 31u : std::min(shift, 32u);
  const std::uint64_t both = in[1] << 32 | static_cast<std::uint32_t>(in[0]);
  return static_cast<std::uint32_t>(
      (i.option & kRight) != 0 ? both >> places : both << places >> 32);
}

std::uint64_t lop3(const Instruction&, Values in) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const std::uint64_t index =
        (in[0] >> bit & 1) << 2 | (in[1] >> bit & 1) << 1 | (in[2] >> bit & 1);
    result |= static_cast<std::uint32_t>(in[3] >> index & 1) << bit;
  }
  return result;
}

enum PermuteMode : std::uint32_t {
  kAny,
  kForward,
  kBackward,
  kReplicate,
  kLeft,
  kRightEdge,
  kHalves
};
std::uint64_t prmt(const Instruction& i, Values in) {
  const std::uint64_t bytes = in[1] << 32 | static_cast<std::uint32_t>(in[0]);
  const auto byte = [&](std::uint64_t number) { return bytes >> 8 * (number & 7) & 0xff; };
  const std::uint64_t s = in[2] & 3;
  std::uint64_t result = 0;
  for (std::uint64_t n = 0; n < 4; ++n) {
    std::uint64_t value = 0;
    switch (i.mode) {
      case kAny: {
        const std::uint64_t selector = in[2] >> 4 * n & 15;
        value = byte(selector);
        if ((selector & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
        break;
      }
      case kForward:
        value = byte(s + n);
        break;
      case kBackward:
        value = byte(s + 8 - n);
        break;
      case kReplicate:
        value = byte(s);
        break;
      case kLeft:
        value = byte(std::max(s, n));
        break;
      case kRightEdge:
        value = byte(std::min(s, n));
        break;
      default:
        value = byte((s & 1) * 2 + (n & 1));
    }
    result |= value << 8 * n;
  }
  return result;
}

std::uint64_t extract(const Instruction& i, Values in) {
  const int first = static_cast<int>(in[1] & 0xff), count = static_cast<int>(in[2] & 0xff);
  const int last_bit = i.type.bits - 1;
  const bool negative = i.type.base == Base::signed_ && count > 0 &&
                        (in[0] >> std::min(first + count - 1, last_bit) & 1) != 0;
  std::uint64_t result = 0;
  for (int bit = 0; bit <= last_bit; ++bit) {
    const bool inside = bit < count && first + bit <= last_bit;
    const bool one = inside ? (in[0] >> (first + bit) & 1) != 0 : negative;
    result |= std::uint64_t{one} << bit;
  }
  return result;
}

std::uint64_t insert(const Instruction& i, Values in) {
  const int first = static_cast<int>(in[2] & 0xff), count = static_cast<int>(in[3] & 0xff);
  std::uint64_t result = unsigned_value(i.type, in[1]);
  for (int bit = 0; bit < count && first + bit < i.type.bits; ++bit) {
    const std::uint64_t at = std::uint64_t{1} << (first + bit);
    result = (in[0] >> bit & 1) != 0 ? result | at : result & ~at;
  }
  return result;
}

std::uint64_t count_ones(const Instruction& i, Values in) {
  return static_cast<std::uint64_t>(std::popcount(unsigned_value(i.type, in[0])));
}
std::uint64_t leading_zeros(const Instruction& i, Values in) {
  return static_cast<std::uint64_t>(
      std::countl_zero(unsigned_value(i.type, in[0])) - (64 - i.type.bits));
}
std::uint64_t reversed(const Instruction& i, Values in) {
  std::uint64_t result = 0;
  for (int bit = 0; bit < i.type.bits; ++bit)
    result |= (in[0] >> bit & 1) << (i.type.bits - 1 - bit);
  return result;
}

struct BitOperation {
  std::string_view opcode;
  std::size_t inputs;
  Evaluate* evaluate;
};
constexpr BitOperation kBitOperations[] = {
    {"and", 2, bitwise_and}, {"or", 2, bitwise_or},     {"xor", 2, bitwise_xor},
    {"not", 1, bitwise_not}, {"cnot", 1, is_zero},      {"shl", 2, shift_left},
    {"shr", 2, shift_right}, {"bfe", 3, extract},       {"bfi", 4, insert},
    {"popc", 1, count_ones}, {"clz", 1, leading_zeros}, {"brev", 1, reversed}};

bool decode_bit_operation(Instruction& i, Modifiers& modifiers) {
  const BitOperation* const operation = std::find_if(
      std::begin(kBitOperations), std::end(kBitOperations),
      [&](const BitOperation& known) { return known.opcode == i.line.opcode; });
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.type.bits > 64) return false;
  if (!has_operands(i, 1, operation->inputs)) return false;
  compute(i, operation->evaluate);
  return true;
}

bool decode_funnel(Instruction& i, Modifiers& modifiers) {
  const int direction = modifiers.take_one_of({"l", "r"});
  const int mode = modifiers.take_one_of({"clamp", "wrap"});
  if (direction < 0 || mode < 0 || !modifiers.take("b32") || !has_operands(i, 1, 3)) return false;
  i.option = (mode == 1 ? kWraps : 0u) | (direction == 1 ? kRight : 0u);
  compute(i, funnel_shift);
  return true;
}

bool decode_lop3(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take("b32") || !has_operands(i, 1, 4)) return false;
  compute(i, lop3);
  return true;
}

bool decode_prmt(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take("b32") || !has_operands(i, 1, 3)) return false;
  i.mode = static_cast<std::uint32_t>(
      modifiers.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) + 1);
  compute(i, prmt);
  return true;
}

// {a, b} is one value of which a has the lower bits. An element of it is a register.
void run_mov(Execution& thread, const Instruction& i) {
  const Operand& to = i.operand(0);
  const Operand& from = i.operand(1);
  const auto part_bits = [&](const Operand& vector) {
    return i.type.bits / static_cast<int>(vector.parts.size());
  };
  const auto low_bits = [](std::uint64_t value, int bits) {
    return bits >= 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
  };
  Value value;
  if (from.kind == Operand::Kind::vector) {
    int at = 0;
    for (const Operand& part : from.parts) {
      const std::uint64_t bits = low_bits(thread.read(part), part_bits(from));
      (at < 64 ? value.low : value.high) |= bits << at % 64;
      at += part_bits(from);
    }
  } else if (from.kind == Operand::Kind::reg && i.type.bits == 128) {
    value = thread.registers[from.reg];
  } else {
    value.low = low_bits(thread.read(from, i.type), i.type.bits);
  }
  if (to.kind == Operand::Kind::vector) {
    int at = 0;
    for (const Operand& part : to.parts) {
      thread.write(part, low_bits((at < 64 ? value.low : value.high) >> at % 64, part_bits(to)));
      at += part_bits(to);
    }
  } else if (to.kind == Operand::Kind::reg) {
    thread.registers[to.reg] = value;
  }
}

bool decode_mov(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.line.operands.size() != 2)
    return false;
  const auto is_vector_of = [&](const Operand& operand, bool (*fits)(const Operand&)) {
    const std::size_t count = operand.parts.size();
    return operand.kind == Operand::Kind::vector && (count == 2 || count == 4) &&
           i.type.bits / count >= 8 && i.type.bits / count <= 64 &&
           std::all_of(operand.parts.begin(), operand.parts.end(), fits);
  };
  const Operand &to = i.operand(0), &from = i.operand(1);
  if (!is_output(to) && !is_vector_of(to, is_output)) return false;
  if (!is_input(from) && !is_vector_of(from, is_input)) return false;
  i.run = run_mov;
  return true;
}

}  // namespace

std::span<const Family> bit_operations() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all{
        {"shf", decode_funnel}, {"lop3", decode_lop3}, {"prmt", decode_prmt}, {"mov", decode_mov}};
    for (const BitOperation& operation : kBitOperations) {
      all.push_back({operation.opcode, decode_bit_operation});
    }
    return all;
  }();
  return families;
}

namespace {

// setp, set, selp and slct.

enum Comparison : std::uint32_t { kEq, kNe, kLt, kLe, kGt, kGe, kNum, kNan };
constexpr std::uint32_t kOrUnordered = 8;  // with `mode`
enum Combination : std::uint32_t { kAlone, kAnd, kOr, kXor };

template <class T>
bool compared(std::uint32_t mode, T a, T b) {
  switch (mode) {
    case kEq:
      return a == b;
    case kNe:
      return a != b;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    default:
      return a >= b;
  }
}

bool holds(const Instruction& i, std::uint64_t a, std::uint64_t b) {
  const std::uint32_t mode = i.mode & ~kOrUnordered;
  if (i.from.is_real()) {
    const double x = real_value(i.from, a), y = real_value(i.from, b);
    const bool unordered = std::isnan(x) || std::isnan(y);
    if (mode == kNum || mode == kNan) return unordered == (mode == kNan);
    return unordered ? (i.mode & kOrUnordered) != 0 : compared(mode, x, y);
  }
  if (i.from.base == Base::signed_) {
    return compared(mode, signed_value(i.from, a), signed_value(i.from, b));
  }
  return compared(mode, unsigned_value(i.from, a), unsigned_value(i.from, b));
}

bool combined(std::uint32_t combination, bool a, bool b) {
  return combination == kAnd   ? a && b
         : combination == kOr  ? a || b
         : combination == kXor ? a != b
                               : a;
}

void run_setp(Execution& thread, const Instruction& i) {
  const bool result =
      holds(i, thread.read(i.operand(1), i.from), thread.read(i.operand(2), i.from));
  const bool other = i.option != kAlone && thread.is_true(i.operand(3));
  const Operand& to = i.operand(0);
  thread.write(to, combined(i.option, result, other));
  if (to.second >= 0) thread.registers[to.second].low = combined(i.option, !result, other);
}

void run_set(Execution& thread, const Instruction& i) {
  const bool result =
      holds(i, thread.read(i.operand(1), i.from), thread.read(i.operand(2), i.from));
  const bool other = i.option != kAlone && thread.is_true(i.operand(3));
  const std::uint64_t yes =
      i.type.is_real() ? std::bit_cast<std::uint32_t>(1.0f) : std::uint64_t{0xffffffffu};
  thread.write(i.operand(0), combined(i.option, result, other) ? yes : 0);
}

// Takes the comparison and what it is combined with.
bool take_comparison(Instruction& i, Modifiers& modifiers) {
  const int mode = modifiers.take_one_of({"eq", "ne", "lt", "le", "gt", "ge", "num", "nan"});
  const int of_unsigned = modifiers.take_one_of({"lo", "ls", "hi", "hs"});
  const int unordered = modifiers.take_one_of({"equ", "neu", "ltu", "leu", "gtu", "geu"});
  constexpr std::uint32_t kOfUnsigned[] = {kLt, kLe, kGt, kGe};
  if (mode >= 0) {
    i.mode = static_cast<std::uint32_t>(mode);
  } else if (of_unsigned >= 0) {
    i.mode = kOfUnsigned[of_unsigned];
  } else if (unordered >= 0) {
    i.mode = static_cast<std::uint32_t>(unordered) | kOrUnordered;
  } else {
    return false;
  }
  i.option = static_cast<std::uint32_t>(modifiers.take_one_of({"and", "or", "xor"}) + 1);
  modifiers.take("ftz");
  return true;
}

bool is_comparable(Type type) {
  return type.packed == 1 && type.base != Base::predicate && type.bits <= 64;
}

bool decode_setp(Instruction& i, Modifiers& modifiers) {
  if (!take_comparison(i, modifiers) || !modifiers.take_type(i.from)) return false;
  if (!is_comparable(i.from) || !has_operands(i, 1, i.option == kAlone ? 2 : 3)) return false;
  i.run = run_setp;
  return true;
}

bool decode_set(Instruction& i, Modifiers& modifiers) {
  if (!take_comparison(i, modifiers)) return false;
  if (!modifiers.take_type(i.type) || !modifiers.take_type(i.from)) return false;
  if (i.type.bits != 32 || !is_comparable(i.from)) return false;
  if (!has_operands(i, 1, i.option == kAlone ? 2 : 3)) return false;
  i.run = run_set;
  return true;
}

void run_selp(Execution& thread, const Instruction& i) {
  const Operand& chosen = thread.is_true(i.operand(3)) ? i.operand(1) : i.operand(2);
  thread.write(i.operand(0), thread.read(chosen, i.type));
}
bool decode_selp(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_type(i.type) || !has_operands(i, 1, 3)) return false;
  i.run = run_selp;
  return true;
}

// The first if the third is not negative, else the second.
void run_slct(Execution& thread, const Instruction& i) {
  const std::uint64_t sign = thread.read(i.operand(3), i.from);
  const bool first =
      i.from.is_real() ? real_value(i.from, sign) >= 0 : signed_value(i.from, sign) >= 0;
  thread.write(i.operand(0), thread.read(i.operand(first ? 1 : 2), i.type));
}
bool decode_slct(Instruction& i, Modifiers& modifiers) {
  modifiers.take("ftz");
  if (!modifiers.take_type(i.type) || !modifiers.take_type(i.from)) return false;
  if (i.from.bits != 32 || !has_operands(i, 1, 3)) return false;
  i.run = run_slct;
  return true;
}

}  // namespace

std::span<const Family> comparisons() {
  static constexpr Family kFamilies[] = {
      {"setp", decode_setp}, {"set", decode_set}, {"selp", decode_selp}, {"slct", decode_slct}};
  return kFamilies;
}

}  // namespace machine::ptx
