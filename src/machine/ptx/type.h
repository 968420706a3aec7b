// The types that PTX instructions are named for.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace machine::ptx {

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

// A number in a register as a number, and back. Integers are exact up to 53 bits.
double real_value(Type type, std::uint64_t bits);

// The value's bits of an integer type, extended to 64 bits by its sign.
inline std::int64_t signed_value(Type type, std::uint64_t bits) {
  const int unused = 64 - type.bits;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}
inline std::uint64_t unsigned_value(Type type, std::uint64_t bits) {
  return type.bits == 64 ? bits : bits & ((std::uint64_t{1} << type.bits) - 1);
}

}  // namespace machine::ptx
