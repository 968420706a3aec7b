// Instructions that only compute, and predicates.

#include <algorithm>
#include <bit>
#include <cmath>

#include "simulator/cuda/intrinsics.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

using Values = std::span<const std::uint64_t>;

// `f` of up to three numbers of the instruction's type, and of the bits of that. If it is `wide`,
// the third number and the result have twice as many bits.
template <auto f, bool wide = false>
std::uint64_t integer(const Instruction& i, Values in) {
  Type to = i.type;
  if (wide) to.bits = static_cast<std::uint8_t>(2 * to.bits);
  const auto number = [&](std::size_t n) {
    return n < in.size() ? wide_value(n < 2 ? i.type : to, in[n]) : 0;
  };
  const Wide result = f(number(0), number(1), number(2), int{i.type.bits});
  return i.saturates ? clamped(to, result) : unsigned_value(to, static_cast<std::uint64_t>(result));
}

__extension__ using UnsignedWide = unsigned __int128;
Wide product(Wide a, Wide b) {
  return static_cast<Wide>(static_cast<UnsignedWide>(a) * static_cast<UnsignedWide>(b));
}
// A shift by more than the width leaves only the bits that are shifted in.
int places(Wide by, int most) {
  return static_cast<int>(by < 0 || by > most ? Wide{most} : by);
}
// `count` bits from bit `first` on, extended by their sign if a was.
std::uint64_t field(const Instruction& i, Values in) {
  const Wide shifted = wide_value(i.type, in[0]) >> std::min<int>(in[1] & 0xff, i.type.bits);
  const Type part{i.type.base, static_cast<std::uint8_t>(std::min<int>(in[2] & 0xff, 64))};
  const auto low = static_cast<std::uint64_t>(shifted);
  return part.bits == 0 ? 0
                        : unsigned_value(i.type, static_cast<std::uint64_t>(wide_value(part, low)));
}
// b, in which `count` bits from bit `first` on are those of a.
std::uint64_t with_field(const Instruction& i, Values in) {
  const auto first = std::min<int>(in[2] & 0xff, 64), count = std::min<int>(in[3] & 0xff, 64);
  const Wide mask = ((Wide{1} << count) - 1) << first, a = static_cast<Wide>(in[0]) << first;
  return unsigned_value(
      i.type, (in[1] & ~static_cast<std::uint64_t>(mask)) | static_cast<std::uint64_t>(a & mask));
}
// The highest bit that is not the sign; with mode 1, by how much it is shifted to the top.
std::uint64_t highest(const Instruction& i, Values in) {
  Wide a = wide_value(i.type, in[0]);
  if (a < 0) a = ~a;
  if (a == 0) return 0xffffffffu;
  const int at = 63 - std::countl_zero(static_cast<std::uint64_t>(a));
  return static_cast<std::uint64_t>(i.mode == 1 ? i.type.bits - 1 - at : at);
}
// Bit abc of the table, for each bit.
std::uint64_t looked_up(const Instruction&, Values in) {
  std::uint64_t result = 0;
  for (int bit = 0; bit < 32; ++bit) {
    const auto of = [&](int n) { return in[n] >> bit & 1; };
    result |= (in[3] >> (of(0) << 2 | of(1) << 1 | of(2)) & 1) << bit;
  }
  return result;
}
// As __byte_perm, but the highest of four bits that choose a byte fills it with that byte's sign.
std::uint64_t permuted(const Instruction&, Values in) {
  std::uint32_t result = 0;
  for (int bit = 0; bit < 32; bit += 8) {
    const auto choice = static_cast<std::uint32_t>(in[2] >> bit / 2 & 0xf);
    const auto words = in[1] << 32 | static_cast<std::uint32_t>(in[0]);
    const auto byte = static_cast<std::uint8_t>(words >> (choice & 7) * 8);
    result |= (choice < 8 ? byte : byte / 128 * 0xffu) << bit;
  }
  return result;
}
// c and the sum of the products of four bytes.
std::uint64_t dot(const Instruction& i, Values in) {
  std::uint64_t sum = in[2];
  for (int bit = 0; bit < 32; bit += 8) {
    const Wide a = wide_value({i.type.base, 8}, in[0] >> bit),
               b = wide_value({i.from.base, 8}, in[1] >> bit);
    sum += static_cast<std::uint64_t>(a * b);
  }
  return static_cast<std::uint32_t>(sum);
}

// `f` of up to three real numbers, exactly or so near that one rounding gives the right result; of
// each part of a packed type. (Of ex2.approx and its like a GPU's last digits may differ.)
template <auto f>
std::uint64_t real(const Instruction& i, Values in) {
  const Type one{i.type.base, i.type.bits};
  std::uint64_t result = 0;
  for (int at = 0; at < one.bits * i.type.packed; at += one.bits) {
    const auto number = [&](std::size_t n) {
      return n < in.size() ? number_in(i, one, in[n] >> at) : 0;
    };
    result |= rounded(i, one, f(number(0), number(1), number(2))) << at;
  }
  return result;
}

double sum(double a, double b) {
  const double result = a + b, of_b = result - a;
  return odd(result, (a - (result - of_b)) + (b - of_b));
}
double quotient(double a, double b) {
  const double result = a / b;
  return odd(result, std::fma(-result, b, a) * std::copysign(1.0, b));
}
double root(double a) {
  const double result = std::sqrt(a);
  return odd(result, std::fma(-result, result, a));
}
// Of a number and a NaN, the number. -0 is less than 0.
double smaller(double a, double b) {
  return std::isnan(a) || b < a || (a == b && std::signbit(b)) ? b : a;
}
double larger(double a, double b) {
  return -smaller(-a, -b);
}

// A sum or difference with the carry of the instruction before it, if its name ends in c: a thread
// has one carry, also from one asm statement to the next. With .cc it leaves its own there.
void run_carried(Execution& thread) {
  const Instruction& i = *thread.now;
  const auto number = [&](std::size_t n) {
    return wide_value({Base::unsigned_, i.type.bits}, thread.value(n));
  };
  bool& carry = thread.worker.running().carry;
  Wide a = number(1), b = number(2);
  if (i.line.opcode.starts_with("mad")) {
    a = unsigned_value(
        i.type,
        static_cast<std::uint64_t>(
            product(wide_value(i.type, thread.value(1)), wide_value(i.type, thread.value(2))) >>
            (i.option == 1 ? i.type.bits : 0)));
    b = number(3);
  }
  if (i.line.opcode.back() == 'c') b += carry;
  const Wide result = i.line.opcode.starts_with("sub") ? a - b : a + b;
  thread.write(i.operand(0), unsigned_value(i.type, static_cast<std::uint64_t>(result)));
  if (i.mode == 1) carry = (result >> i.type.bits & 1) != 0;
}

// {a, b} is one value of which a has the lower bits. An element of it is a register.
void run_mov(Execution& thread) {
  const Instruction& i = *thread.now;
  const std::span<const Operand> from = listed(i.operand(1)), to = listed(i.operand(0));
  const auto part = [&](std::size_t parts) {
    return Type{Base::bits, static_cast<std::uint8_t>(i.type.bits / parts)};
  };
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < from.size(); ++n) {
    const Type type = part(from.size());
    value |= unsigned_value(type, thread.read(from[n], i.type)) << n * type.bits;
  }
  for (std::size_t n = 0; n < to.size(); ++n) {
    const Type type = part(to.size());
    thread.write(to[n], unsigned_value(type, value >> n * type.bits));
  }
}

bool decode_mov(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.line.operands.size() != 2)
    return false;
  const auto is_vector_of = [&](const Operand& operand, bool (*fits)(const Operand&)) {
    const std::size_t count = operand.parts.size();
    return (count == 2 || count == 4) && i.type.bits / count >= 8 && is_list(operand, count, fits);
  };
  const Operand &to = i.operand(0), &from = i.operand(1);
  if (!is_output(to) && !is_vector_of(to, is_output)) return false;
  if (!is_input(from) && !is_vector_of(from, is_input)) return false;
  i.run = run_mov;
  return true;
}

// setp and selp. The mode is the number of the comparison in its row, and from 12 on that of one
// that holds if a number is a NaN, too. The option is what the result is combined with.

#define COMPARISONS "=eq|ne|lt|le|gt|ge|num|nan|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu"
template <class T>
bool compared(std::uint32_t mode, T a, T b) {
  const bool results[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
  return results[mode >= 8 && mode < 12 ? mode - 6 : mode % 12];
}

bool holds(const Instruction& i, std::uint64_t a, std::uint64_t b) {
  if (!i.type.is_real()) return compared(i.mode, wide_value(i.type, a), wide_value(i.type, b));
  const double x = number_in(i, i.type, a), y = number_in(i, i.type, b);
  const bool unordered = std::isnan(x) || std::isnan(y);
  if (i.mode == 6 || i.mode == 7) return unordered == (i.mode == 7);
  return unordered ? i.mode >= 12 : compared(i.mode, x, y);
}

void run_setp(Execution& thread) {
  const Instruction& i = *thread.now;
  const bool result =
      holds(i, thread.read(i.operand(1), i.type), thread.read(i.operand(2), i.type));
  const bool other = i.option != 0 && thread.value(3) != 0;
  const auto combined = [&](bool a) {
    return i.option == 1 ? a && other : i.option == 2 ? a || other : a != other;
  };
  thread.write(i.operand(0), combined(result));
  thread.write_second(0, combined(!result));
}

void run_selp(Execution& thread) {
  const Operand& chosen = thread.operand(thread.value(3) != 0 ? 1 : 2);
  thread.write(thread.operand(0), thread.read(chosen, thread.now->type));
}
#define COMPARABLE "f16|bf16|f32|f64|" BITS "|" INTEGERS
#define BITS "b16|b32|b64"
#define INTEGERS "u16|u32|u64|s16|s32|s64"
#define NARROW "f32|f16|f16x2|bf16|bf16x2"
#define ROUNDED " rn|rz|rm|rp? ftz? sat? " NARROW
#define UNUSED [[maybe_unused]]
#define INTEGER(...)                                                                 \
  integer<[](UNUSED Wide a, UNUSED Wide b, UNUSED Wide c, UNUSED int bits) -> Wide { \
    return (__VA_ARGS__);                                                            \
  }>
#define WIDE(...) \
  integer<[](Wide a, Wide b, UNUSED Wide c, int) -> Wide { return (__VA_ARGS__); }, true>
#define REAL(...) \
  real<[](UNUSED double a, UNUSED double b, UNUSED double c) { return (__VA_ARGS__); }>

constexpr PtxRow kArithmetic[] = {
    computes("add sat? " INTEGERS, "dss", INTEGER(a + b)),
    computes("sub sat? " INTEGERS, "dss", INTEGER(a - b)),
    computes("mul lo " INTEGERS, "dss", INTEGER(product(a, b))),
    computes("mul hi " INTEGERS, "dss", INTEGER(product(a, b) >> bits)),
    computes("mul wide u16|u32|s16|s32", "dss", WIDE(a* b)),
    computes("mad lo " INTEGERS, "dsss", INTEGER(product(a, b) + c)),
    computes("mad hi sat? " INTEGERS, "dsss", INTEGER((product(a, b) >> bits) + c)),
    computes("mad wide u16|u32|s16|s32", "dsss", WIDE(a* b + c)),
    computes("div " INTEGERS, "dss", INTEGER(b == 0 ? -1 : a / b)),
    computes("rem " INTEGERS, "dss", INTEGER(b == 0 ? a : a % b)),
    computes("min " INTEGERS, "dss", INTEGER(std::min(a, b))),
    computes("max " INTEGERS, "dss", INTEGER(std::max(a, b))),
    computes("abs s16|s32|s64", "ds", INTEGER(a < 0 ? -a : a)),
    computes("neg s16|s32|s64", "ds", INTEGER(-a)),
    computes("and pred|" BITS, "dss", INTEGER(a& b)),
    computes("or pred|" BITS, "dss", INTEGER(a | b)),
    computes("xor pred|" BITS, "dss", INTEGER(a ^ b)),
    computes("not pred|" BITS, "ds", INTEGER(~a)),
    computes("shl " BITS, "dss", INTEGER(a << places(b, bits))),
    computes("shr " BITS "|" INTEGERS, "dss", INTEGER(a >> places(b, bits))),
    computes("shf l wrap b32", "dsss", INTEGER((b << 32 | a) << (c & 31) >> 32)),
    computes("shf l clamp b32", "dsss", INTEGER((b << 32 | a) << places(c, 32) >> 32)),
    computes("shf r wrap b32", "dsss", INTEGER((b << 32 | a) >> (c & 31))),
    computes("shf r clamp b32", "dsss", INTEGER((b << 32 | a) >> places(c, 32))),
    computes("popc b32|b64", "ds", INTEGER(std::popcount(static_cast<std::uint64_t>(a)))),
    computes(
        "clz b32|b64", "ds",
        INTEGER(std::countl_zero(static_cast<std::uint64_t>(a)) - (64 - bits))),
    computes("brev b32|b64", "ds", INTEGER(__brevll(static_cast<std::uint64_t>(a)) >> (64 - bits))),
    computes("bfe u32|u64|s32|s64", "dsss", field),
    computes("bfi b32|b64", "dssss", with_field),
    computes("bfind =shiftamt? u32|u64|s32|s64", "ds", highest),
    computes("lop3 b32", "dssss", looked_up),
    computes("prmt b32", "dsss", permuted),
    computes("dp4a u32|s32 u32|s32", "dsss", dot),

    computes("add" ROUNDED, "dss", REAL(sum(a, b))),
    computes("add rn? f64", "dss", REAL(a + b)),
    computes("sub" ROUNDED, "dss", REAL(sum(a, -b))),
    computes("sub rn? f64", "dss", REAL(a - b)),
    computes("mul" ROUNDED, "dss", REAL(a* b)),
    computes("mul rn? f64", "dss", REAL(a* b)),
    computes("fma|mad relu?" ROUNDED, "dsss", REAL(sum(a* b, c))),
    computes("fma|mad rn? f64", "dsss", REAL(std::fma(a, b, c))),
    computes("div approx|full|rn|rz|rm|rp ftz? f32", "dss", REAL(quotient(a, b))),
    computes("div rn f64", "dss", REAL(a / b)),
    computes("rcp approx|rn|rz|rm|rp ftz? f32", "ds", REAL(quotient(1, a))),
    computes("rcp approx|rn ftz? f64", "ds", REAL(1 / a)),
    computes("sqrt approx|rn|rz|rm|rp ftz? f32", "ds", REAL(root(a))),
    computes("sqrt rn f64", "ds", REAL(std::sqrt(a))),
    computes("rsqrt approx ftz? f32|f64", "ds", REAL(1 / std::sqrt(a))),
    computes("ex2 approx ftz? " NARROW, "ds", REAL(std::exp2(a))),
    computes("lg2 approx ftz? f32", "ds", REAL(std::log2(a))),
    computes("sin approx ftz? f32", "ds", REAL(std::sin(a))),
    computes("cos approx ftz? f32", "ds", REAL(std::cos(a))),
    computes("tanh approx " NARROW, "ds", REAL(std::tanh(a))),
    computes("abs ftz? f64|" NARROW, "ds", REAL(std::fabs(a))),
    computes("neg ftz? f64|" NARROW, "ds", REAL(-a)),
    computes("copysign f32|f64", "dss", REAL(std::copysign(b, a))),
    computes("min ftz? f64|" NARROW, "dss", REAL(smaller(a, b))),
    computes("max ftz? f64|" NARROW, "dss", REAL(larger(a, b))),
    computes("min ftz? NaN " NARROW, "dss", REAL(a != a || b != b ? a + b : smaller(a, b))),
    computes("max ftz? NaN " NARROW, "dss", REAL(a != a || b != b ? a + b : larger(a, b))),

    {"add|sub|addc|subc =cc? u32|u64|s32|s64", "dss", run_carried},
    {"mad|madc #lo|hi =cc? u32|u64|s32|s64", "dsss", run_carried},
    computes("sad " INTEGERS, "dsss", INTEGER(c + (a > b ? a - b : b - a))),
    computes("cnot " BITS, "ds", INTEGER(a == 0)),
    computes("bmsk clamp b32", "dss", INTEGER(((Wide{1} << places(b, 32)) - 1) << places(a, 32))),
    computes("bmsk wrap b32", "dss", INTEGER(((Wide{1} << (b & 31)) - 1) << (a & 31))),
    decoded("mov", decode_mov),
    {"setp " COMPARISONS " ftz? " COMPARABLE, "dss", run_setp},
    {"setp " COMPARISONS " #and|or|xor? ftz? " COMPARABLE, "dsss", run_setp},
    {"selp " COMPARABLE, "dsss", run_selp}};

}  // namespace

std::span<const PtxRow> arithmetic() {
  return kArithmetic;
}

}  // namespace machine::ptx
