// Instructions that move and combine bits.
#include <algorithm>

#include "machine/ptx/instruction.h"

namespace machine::ptx {
namespace {

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

// A shift by more places than there are gives only the bits that move in.
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
  const auto asked = static_cast<std::uint32_t>(in[2]);
  const std::uint32_t places = (i.option & kWraps) != 0 ? asked & 31u : std::min(asked, 32u);
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

struct Operation {
  std::string_view opcode;
  std::size_t inputs;
  Evaluate* evaluate;
};
constexpr Operation kOperations[] = {
    {"and", 2, bitwise_and}, {"or", 2, bitwise_or},     {"xor", 2, bitwise_xor},
    {"not", 1, bitwise_not}, {"cnot", 1, is_zero},      {"shl", 2, shift_left},
    {"shr", 2, shift_right}, {"bfe", 3, extract},       {"bfi", 4, insert},
    {"popc", 1, count_ones}, {"clz", 1, leading_zeros}, {"brev", 1, reversed}};

bool decode_operation(Instruction& i, Modifiers& modifiers) {
  const Operation* const operation = std::find_if(
      std::begin(kOperations), std::end(kOperations),
      [&](const Operation& known) { return known.opcode == i.line.opcode; });
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
    for (const Operation& operation : kOperations) {
      all.push_back({operation.opcode, decode_operation});
    }
    return all;
  }();
  return families;
}

}  // namespace machine::ptx
