// cvt, and cvta, which changes an address between state spaces.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>

#include "model/tensor_core.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/position.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

using Values = std::span<const std::uint64_t>;
using model::Toward;

// The bits of a real number of `type`.
std::uint64_t real_bits(Type type, double value, Toward rounding) {
  switch (type.base) {
    case Base::bf16:
      return model::rounded_to(model::kBfloat16, value, rounding);
    case Base::tf32: {
      constexpr int kUnused = model::kFp32Format.fraction_bits - model::kTf32Format.fraction_bits;
      return model::rounded_to(model::kTf32Format, value, rounding) << kUnused;
    }
    default:
      if (type.bits == 64) return std::bit_cast<std::uint64_t>(value);
      if (type.bits == 16) return model::rounded_to(model::kFp16, value, rounding);
      return model::rounded_to(model::kFp32Format, value, rounding);
  }
}

double flushed(double value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0, value) : value;
}

double limited(const Instruction& i, double value) {
  if (i.relu && (value < 0 || std::isnan(value))) value = std::isnan(value) ? value : 0;
  if (i.saturates) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  return value;
}

// i.option: the number is rounded to an integer first.
std::uint64_t real_to_real(const Instruction& i, Values in) {
  const auto rounding = static_cast<Toward>(i.mode);
  const auto one = [&](std::uint64_t bits) {
    double value = real_value(i.from, bits);
    if (i.flushes && i.from.bits == 32) value = flushed(value);
    if (i.option != 0) value = model::rounded_to_integer(value, rounding);
    return real_bits(i.type, limited(i, value), rounding);
  };
  // Of two numbers, the first becomes the upper half.
  return in.size() == 2 ? one(in[0]) << 16 | one(in[1]) : one(in[0]);
}

std::uint64_t real_to_integer(const Instruction& i, Values in) {
  double value = real_value(i.from, in[0]);
  if (i.flushes) value = flushed(value);
  if (std::isnan(value)) return i.type.bits == 64 ? std::uint64_t{1} << 63 : 0;
  value = model::rounded_to_integer(value, static_cast<Toward>(i.mode));
  // Beyond the integers it becomes the last of them.
  if (i.type.base == Base::signed_) {
    const double end = std::ldexp(1.0, i.type.bits - 1);
    const std::uint64_t first = std::uint64_t{1} << (i.type.bits - 1);
    if (value >= end) return first - 1;
    if (value < -end) return first;
    return unsigned_value(i.type, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  }
  if (value <= 0) return 0;
  if (value >= std::ldexp(1.0, i.type.bits)) return unsigned_value(i.type, ~std::uint64_t{0});
  return static_cast<std::uint64_t>(value);
}

std::uint64_t integer_to_real(const Instruction& i, Values in) {
  const bool is_signed = i.from.base == Base::signed_;
  const std::int64_t value = signed_value(i.from, in[0]);
  const std::uint64_t magnitude = unsigned_value(i.from, in[0]);
  const auto rounding = static_cast<Toward>(i.mode);
  if (i.from.bits == 64 && i.type.bits == 32 && rounding == Toward::nearest) {
    return std::bit_cast<std::uint32_t>(
        is_signed ? static_cast<float>(value) : static_cast<float>(magnitude));
  }
  const double real = is_signed ? static_cast<double>(value) : static_cast<double>(magnitude);
  return real_bits(i.type, limited(i, real), rounding);
}

std::uint64_t integer_to_integer(const Instruction& i, Values in) {
  const bool from_signed = i.from.base == Base::signed_, to_signed = i.type.base == Base::signed_;
  if (!i.saturates) {
    return unsigned_value(
        i.type, from_signed ? static_cast<std::uint64_t>(signed_value(i.from, in[0]))
                            : unsigned_value(i.from, in[0]));
  }
  __extension__ using Wide = __int128;
  const Wide value =
      from_signed ? Wide{signed_value(i.from, in[0])} : Wide{unsigned_value(i.from, in[0])};
  const Wide most = (Wide{1} << (i.type.bits - (to_signed ? 1 : 0))) - 1;
  const Wide least = to_signed ? -most - 1 : Wide{0};
  return unsigned_value(i.type, static_cast<std::uint64_t>(std::clamp(value, least, most)));
}

bool decode_cvt(Instruction& i, Modifiers& modifiers) {
  const int to_integer = modifiers.take_one_of({"rni", "rzi", "rpi", "rmi"});
  const int to_real = modifiers.take_one_of({"rn", "rna", "rz", "rp", "rm"});
  constexpr Toward kOfIntegers[] = {Toward::nearest, Toward::zero, Toward::above, Toward::below};
  constexpr Toward kOfReals[] = {
      Toward::nearest, Toward::nearest_away, Toward::zero, Toward::above, Toward::below};
  i.mode = static_cast<std::uint32_t>(
      to_integer >= 0 ? kOfIntegers[to_integer] : kOfReals[std::max(to_real, 0)]);
  i.option = to_integer >= 0;
  i.flushes = modifiers.take("ftz");
  i.saturates = modifiers.take("sat");
  i.relu = modifiers.take("relu");
  if (!modifiers.take_type(i.type) || !modifiers.take_type(i.from)) return false;
  const auto is_number = [](Type type) {
    return type.is_real() || type.base == Base::signed_ || type.base == Base::unsigned_ ||
           type.base == Base::bits;
  };
  if (!is_number(i.type) || !is_number(i.from) || i.from.packed != 1) return false;
  if (i.type.bits > 64 || i.from.bits > 64) return false;
  if (i.type.packed == 2) {
    if (i.from != Type{Base::real, 32} || !has_operands(i, 1, 2)) return false;
    compute(i, real_to_real);
    return true;
  }
  if (!has_operands(i, 1, 1)) return false;
  if (i.type.is_real()) {
    compute(i, i.from.is_real() ? real_to_real : integer_to_real);
  } else {
    if (i.from.is_real() && to_integer < 0) return false;
    compute(i, i.from.is_real() ? real_to_integer : integer_to_integer);
  }
  return true;
}

void run_to_shared(Execution& thread, const Instruction& i) {
  const auto* const pointer = reinterpret_cast<const void*>(thread.read(i.operand(1)));
  thread.write(i.operand(0), shared_address_of(pointer, thread.place));
}
void run_from_shared(Execution& thread, const Instruction& i) {
  const void* const pointer =
      pointer_to_shared(static_cast<std::uint32_t>(thread.read(i.operand(1))));
  thread.write(i.operand(0), reinterpret_cast<std::uintptr_t>(pointer));
}
void run_same(Execution& thread, const Instruction& i) {
  thread.write(i.operand(0), thread.read(i.operand(1)));
}

// Every state space but shared memory has the generic addresses here.
bool decode_cvta(Instruction& i, Modifiers& modifiers) {
  const bool to = modifiers.take("to");
  const bool shared = modifiers.take_any({"shared", "shared::cta", "shared::cluster"});
  if (!shared && !modifiers.take_any({"global", "local", "const", "param"})) return false;
  if (!modifiers.take_any({"u64", "u32"}) || !has_operands(i, 1, 1)) return false;
  i.run = !shared ? run_same : to ? run_to_shared : run_from_shared;
  return true;
}

// A block is a cluster of its own: its shared memory has its own addresses.
bool decode_mapa(Instruction& i, Modifiers& modifiers) {
  modifiers.take("shared::cluster");
  if (!modifiers.take_any({"u32", "u64"}) || !has_operands(i, 1, 2)) return false;
  i.run = run_same;
  return true;
}
}  // namespace

std::span<const Family> conversions() {
  static constexpr Family kFamilies[] = {
      {"cvt", decode_cvt}, {"cvta", decode_cvta}, {"mapa", decode_mapa}};
  return kFamilies;
}

namespace {

std::uint64_t thread_in_block() {
  return threadIdx.x + std::uint64_t{blockDim.x} * (threadIdx.y + blockDim.y * threadIdx.z);
}
std::uint64_t lane() {
  return static_cast<std::uint64_t>(running_worker->lane());
}
std::uint64_t warp_size() {
  return static_cast<std::uint64_t>(warpSize);
}
std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}
// The only block of its cluster.
std::uint64_t first_of_cluster() {
  return simt::use_cluster(), 0;
}
std::uint64_t one_of_cluster() {
  return simt::use_cluster(), 1;
}
// A block is a cluster of its own, and runs on the multiprocessor 0.
struct Special {
  std::string_view name;
  std::uint64_t (*value)();
};
constexpr Special kSpecials[] = {
    {"%tid.x", [] { return std::uint64_t{threadIdx.x}; }},
    {"%tid.y", [] { return std::uint64_t{threadIdx.y}; }},
    {"%tid.z", [] { return std::uint64_t{threadIdx.z}; }},
    {"%ntid.x", [] { return std::uint64_t{blockDim.x}; }},
    {"%ntid.y", [] { return std::uint64_t{blockDim.y}; }},
    {"%ntid.z", [] { return std::uint64_t{blockDim.z}; }},
    {"%ctaid.x", [] { return std::uint64_t{blockIdx.x}; }},
    {"%ctaid.y", [] { return std::uint64_t{blockIdx.y}; }},
    {"%ctaid.z", [] { return std::uint64_t{blockIdx.z}; }},
    {"%nctaid.x", [] { return std::uint64_t{gridDim.x}; }},
    {"%nctaid.y", [] { return std::uint64_t{gridDim.y}; }},
    {"%nctaid.z", [] { return std::uint64_t{gridDim.z}; }},
    {"%cluster_ctarank", first_of_cluster},
    {"%cluster_nctarank", one_of_cluster},
    {"%laneid", lane},
    {"%warpid", [] { return thread_in_block() / warp_size(); }},
    {"%smid", [] { return std::uint64_t{0}; }},
    {"%globaltimer", nanoseconds},
    {"%clock64", nanoseconds},
    {"WARP_SZ", warp_size}};

}  // namespace

std::optional<std::uint64_t> special_register(std::string_view name) {
  const auto found = std::find_if(
      std::begin(kSpecials), std::end(kSpecials),
      [&](const Special& known) { return known.name == name; });
  if (found == std::end(kSpecials)) return std::nullopt;
  return static_cast<std::uint64_t>(found - std::begin(kSpecials));
}

std::uint64_t value_of_special(std::uint64_t number) {
  return kSpecials[number].value();
}

}  // namespace machine::ptx
