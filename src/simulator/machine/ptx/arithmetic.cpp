// Integer instructions, as kernels compute addresses by them, sums, and predicates.

#include <algorithm>
#include <bit>
#include <cmath>

#include "simulator/machine/ptx/instruction.h"

namespace machine::ptx {
namespace {

using Values = std::span<const std::uint64_t>;

std::uint64_t add(const Instruction& i, Values in) {
  if (i.type.is_real() && i.type.bits == 32) {
    const auto real = [&](int n) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(in[n]));
    };
    return std::bit_cast<std::uint32_t>(real(0) + real(1));
  }
  if (i.type.is_real()) {
    return std::bit_cast<std::uint64_t>(
        std::bit_cast<double>(in[0]) + std::bit_cast<double>(in[1]));
  }
  return unsigned_value(i.type, in[0] + in[1]);
}
std::uint64_t sub(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] - in[1]);
}
std::uint64_t mul_lo(const Instruction& i, Values in) {
  return unsigned_value(i.type, in[0] * in[1] + (in.size() > 2 ? in[2] : 0));
}
// The factors have 32 bits at most, and the product twice as many as they.
std::uint64_t mul_wide(const Instruction& i, Values in) {
  const auto factor = [&](std::uint64_t bits) {
    return i.type.base == Base::signed_ ? static_cast<std::uint64_t>(signed_value(i.type, bits))
                                        : unsigned_value(i.type, bits);
  };
  const Type wide{i.type.base, static_cast<std::uint8_t>(2 * i.type.bits)};
  return unsigned_value(wide, factor(in[0]) * factor(in[1]) + (in.size() > 2 ? in[2] : 0));
}
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

struct Operation {
  std::string_view opcode;
  std::size_t inputs;
  Evaluate* evaluate;
};
constexpr Operation kOperations[] = {{"add", 2, add},         {"sub", 2, sub},
                                     {"mul", 2, mul_lo},      {"mad", 3, mul_lo},
                                     {"and", 2, bitwise_and}, {"or", 2, bitwise_or},
                                     {"xor", 2, bitwise_xor}, {"not", 1, bitwise_not},
                                     {"shl", 2, shift_left},  {"shr", 2, shift_right}};

bool decode_operation(Instruction& i, Modifiers& modifiers) {
  const Operation* const operation = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& known) { return known.opcode == i.line.opcode; });
  if (!modifiers.take_type(i.type) || i.type.packed != 1) return false;
  if (i.type.is_real() && (operation->evaluate != add || i.type.bits < 32)) return false;
  if (!has_operands(i, 1, operation->inputs)) return false;
  Evaluate* evaluate = operation->evaluate;
  if (evaluate == mul_lo) {
    const bool wide = modifiers.take("wide");
    if (wide ? i.type.bits > 32 : !modifiers.take("lo")) return false;
    if (wide) evaluate = mul_wide;
  }
  compute(i, evaluate);
  return true;
}

// {a, b} is one value of which a has the lower bits. An element of it is a register.
void run_mov(Execution& thread, const Instruction& i) {
  const Operand& to = i.operand(0);
  const Operand& from = i.operand(1);
  const auto part_of = [&](const Operand& vector) {
    return Type{Base::bits, static_cast<std::uint8_t>(i.type.bits / vector.parts.size())};
  };
  std::uint64_t value = 0;
  if (from.kind == Operand::Kind::vector) {
    int at = 0;
    for (const Operand& part : from.parts) {
      value |= unsigned_value(part_of(from), thread.read(part)) << at;
      at += part_of(from).bits;
    }
  } else {
    value = unsigned_value(i.type, thread.read(from, i.type));
  }
  if (to.kind == Operand::Kind::vector) {
    int at = 0;
    for (const Operand& part : to.parts) {
      thread.write(part, unsigned_value(part_of(to), value >> at));
      at += part_of(to).bits;
    }
  } else {
    thread.write(to, value);
  }
}

bool decode_mov(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_type(i.type) || i.type.packed != 1 || i.line.operands.size() != 2)
    return false;
  const auto is_vector_of = [&](const Operand& operand, bool (*fits)(const Operand&)) {
    const std::size_t count = operand.parts.size();
    return operand.kind == Operand::Kind::vector && (count == 2 || count == 4) &&
           i.type.bits / count >= 8 &&
           std::all_of(operand.parts.begin(), operand.parts.end(), fits);
  };
  const Operand &to = i.operand(0), &from = i.operand(1);
  if (!is_output(to) && !is_vector_of(to, is_output)) return false;
  if (!is_input(from) && !is_vector_of(from, is_input)) return false;
  i.run = run_mov;
  return true;
}

// setp and selp.

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
  if (to.second >= 0) thread.registers[to.second] = combined(i.option, !result, other);
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

void run_selp(Execution& thread, const Instruction& i) {
  const Operand& chosen = thread.is_true(i.operand(3)) ? i.operand(1) : i.operand(2);
  thread.write(i.operand(0), thread.read(chosen, i.type));
}
bool decode_selp(Instruction& i, Modifiers& modifiers) {
  if (!modifiers.take_type(i.type) || !has_operands(i, 1, 3)) return false;
  i.run = run_selp;
  return true;
}

}  // namespace

std::span<const Family> arithmetic() {
  static const std::vector<Family> families = [] {
    std::vector<Family> all{{"mov", decode_mov}, {"setp", decode_setp}, {"selp", decode_selp}};
    for (const Operation& operation : kOperations) {
      all.push_back({operation.opcode, decode_operation});
    }
    return all;
  }();
  return families;
}

}  // namespace machine::ptx
