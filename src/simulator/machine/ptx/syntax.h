// The syntax of PTX, as far as it may stand in an asm statement: a text becomes instructions whose
// operands are registers, numbers and addresses. instruction.h has what an instruction means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace machine::ptx {

// The types that PTX instructions are named for.

enum class Base : std::uint8_t { bits, unsigned_, signed_, real, bf16, tf32, predicate };

struct Type {
  Base base = Base::bits;
  std::uint8_t bits = 0;    // of one element
  std::uint8_t packed = 1;  // 2: f16x2, bf16x2

  int bytes() const { return bits * packed / 8; }
  bool is_real() const { return base == Base::real || base == Base::bf16 || base == Base::tf32; }
  bool operator==(const Type&) const = default;
};

// "u32", "f16x2", "pred"; nothing if it is not a type that is known here.
std::optional<Type> type_named(std::string_view name);

// The value's bits of an integer type, extended to 64 bits by its sign.
inline std::int64_t signed_value(Type type, std::uint64_t bits) {
  const int unused = 64 - type.bits;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
inline std::uint64_t unsigned_value(Type type, std::uint64_t bits) {
  return type.bits == 64 ? bits : bits & ((std::uint64_t{1} << type.bits) - 1);
}

struct Operand {
  enum class Kind : std::uint8_t {
    none,     // `_`
    reg,      // a register, perhaps a predicate
    integer,  // a number
    real,     // a number with a fraction, or 0f3f800000
    special,  // %laneid
    address,  // [register + offset]
    vector,   // {a, b}
    symbol    // a label: `number` is the line after it; or a name that is not known
  } kind = Kind::none;
  bool negated = false;      // !p
  bool predicate = false;    // a register that was declared as one
  std::int16_t reg = -1;     // of an address: its base
  std::int16_t offset = -1;  // of an address: a register that is added
  std::int16_t second = -1;  // of p|q: q
  std::uint64_t number = 0;  // a real number as a double; of an address: added; a SpecialRegister
  std::string name = {};     // of a symbol that is not known
  std::vector<Operand> parts = {};  // of a vector; of an address: coordinates after a comma
};

// An instruction: opcode.modifier.modifier operands.
struct Line {
  std::string opcode;                  // "ld"
  std::vector<std::string> modifiers;  // "global", "L2::128B", "v4", "f32"
  std::vector<Operand> operands;
  std::int16_t predicate = -1;
  bool unless = false;  // @!p

  std::string name() const;  // "ld.global.L2::128B.v4.f32"
};

struct Syntax {
  std::vector<Line> lines;
  int registers = 0;  // the operands of the asm statement come first
};

// `names` are those of the statement's operands; empty: without a name. Throws a Refusal.
Syntax parse(std::string_view text, std::span<const std::string_view> names);

}  // namespace machine::ptx
