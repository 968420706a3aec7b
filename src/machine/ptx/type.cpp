#include "machine/ptx/type.h"

#include <bit>

#include "model/tensor_core.h"

namespace machine::ptx {

std::optional<Type> type_named(std::string_view name) {
  struct Named {
    std::string_view name;
    Type type;
  };
  static constexpr Named kTypes[] = {
      {"b8", {Base::bits, 8}},         {"b16", {Base::bits, 16}},
      {"b32", {Base::bits, 32}},       {"b64", {Base::bits, 64}},
      {"b128", {Base::bits, 128}},     {"u8", {Base::unsigned_, 8}},
      {"u16", {Base::unsigned_, 16}},  {"u32", {Base::unsigned_, 32}},
      {"u64", {Base::unsigned_, 64}},  {"s8", {Base::signed_, 8}},
      {"s16", {Base::signed_, 16}},    {"s32", {Base::signed_, 32}},
      {"s64", {Base::signed_, 64}},    {"f16", {Base::real, 16}},
      {"f16x2", {Base::real, 16, 2}},  {"f32", {Base::real, 32}},
      {"f64", {Base::real, 64}},       {"bf16", {Base::bf16, 16}},
      {"bf16x2", {Base::bf16, 16, 2}}, {"tf32", {Base::tf32, 32}},
      {"pred", {Base::predicate, 1}}};
  for (const Named& known : kTypes) {
    if (known.name == name) return known.type;
  }
  return std::nullopt;
}

double real_value(Type type, std::uint64_t bits) {
  if (type.base == Base::bf16) return model::widened(bits & 0xffff, model::kBfloat16);
  if (type.bits == 16) return model::widened(bits & 0xffff, model::kFp16);
  if (type.bits == 32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return std::bit_cast<double>(bits);
}

}  // namespace machine::ptx
