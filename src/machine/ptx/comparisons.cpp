// setp, set, selp and slct.
#include <cmath>

#include "machine/ptx/instruction.h"

namespace machine::ptx {
namespace {

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
