// cvt, and cvta, which changes an address between state spaces.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>

#include "model/gpus.h"
#include "model/tensor_core.h"
#include "simulator/cuda/collectives.h"
#include "simulator/cuda/runtime.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/position.h"
#include "simulator/machine/ptx/instruction.h"
#include "simulator/machine/worker.h"

namespace machine::ptx {
namespace {

using Values = std::span<const std::uint64_t>;
using model::Toward;

double flushed(double value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0, value) : value;
}

// i.option: the number is rounded to an integer first.
std::uint64_t real_to_real(const Instruction& i, Values in) {
  const auto one = [&](std::uint64_t bits) {
    double value = number_in(i, i.from, bits);
    if (i.option != 0) value = model::rounded_to_integer(value, static_cast<Toward>(i.mode));
    return rounded(i, i.type, value);
  };
  // Of two numbers, the first becomes the upper half.
  return in.size() == 2 ? one(in[0]) << 16 | one(in[1]) : one(in[0]);
}

// Beyond the integers it becomes the last of them.
std::uint64_t real_to_integer(const Instruction& i, Values in) {
  const double value = number_in(i, i.from, in[0]);
  if (std::isnan(value)) return i.type.bits == 64 ? std::uint64_t{1} << 63 : 0;
  const double end = std::ldexp(1.0, 65);
  const double integer = model::rounded_to_integer(value, static_cast<Toward>(i.mode));
  return clamped(i.type, static_cast<Wide>(std::clamp(integer, -end, end)));
}

std::uint64_t integer_to_real(const Instruction& i, Values in) {
  const Wide value = wide_value(i.from, in[0]);
  const auto real = static_cast<double>(value);
  const auto rest = static_cast<double>(value - static_cast<Wide>(real));
  return rounded(i, i.type, i.type.bits == 64 ? real : odd(real, rest));
}

std::uint64_t integer_to_integer(const Instruction& i, Values in) {
  const Wide value = wide_value(i.from, in[0]);
  return i.saturates ? clamped(i.type, value)
                     : unsigned_value(i.type, static_cast<std::uint64_t>(value));
}
// cvt.pack: a becomes the upper part, b the lower one, and c follows above them.
std::uint64_t pack(const Instruction& i, Values in) {
  std::uint64_t result = in.size() > 2 ? in[2] << 2 * i.type.bits : 0;
  for (std::size_t n = 0; n < 2; ++n) {
    result |= clamped(i.type, wide_value(i.from, in[n])) << (n == 0 ? i.type.bits : 0);
  }
  return static_cast<std::uint32_t>(result);
}

#define REALS "f16|bf16|f32|f64"
#define ANY_INTEGER "u8|u16|u32|u64|s8|s16|s32|s64|b8|b16|b32|b64"
#define TO_REAL "cvt #rni|rzi|rpi|rmi? rn|rna|rz|rp|rm? ftz? sat? relu?"
#define SHARED "shared|shared::cta|shared::cluster"
#define SAME RUNS(thread.write(thread.operand(0), thread.value(1)))
// Every state space but shared memory has the generic addresses here. A block is a cluster of its
// own: its shared memory has its own addresses.
constexpr PtxRow kConversions[] = {
    computes("cvt pack sat u8|s8|u16|s16 s32 b32?", "dss?s", pack),
    computes(TO_REAL " f16|bf16|tf32|f32|f64 " REALS, "ds", real_to_real),
    computes(TO_REAL " f16x2|bf16x2 f32", "dss", real_to_real),
    computes(TO_REAL " " REALS " " ANY_INTEGER, "ds", integer_to_real),
    computes("cvt rni|rzi|rpi|rmi ftz? sat? " ANY_INTEGER " " REALS, "ds", real_to_integer),
    computes("cvt sat? " ANY_INTEGER " " ANY_INTEGER, "ds", integer_to_integer),
    {"cvta to " SHARED " u64|u32", "ds",
     RUNS(const auto* const pointer = reinterpret_cast<const void*>(thread.value(1));
          thread.write(thread.operand(0), __cvta_generic_to_shared(pointer)))},
    {"cvta " SHARED " u64|u32", "ds",
     RUNS(const void* const pointer = pointer_to_shared(thread.word(1));
          thread.write(thread.operand(0), reinterpret_cast<std::uintptr_t>(pointer)))},
    {"cvta to? global|local|const|param u64|u32", "ds", SAME},
    {"isspacep =global|local|" SHARED, "ds",
     RUNS(const auto* const pointer = reinterpret_cast<const void*>(thread.value(1));
          const auto is_there = thread.now->mode == 0   ? __isGlobal
                                : thread.now->mode == 1 ? __isLocal
                                                        : __isShared;
          thread.write(thread.operand(0), is_there(pointer)))},
    {"mapa shared::cluster? u32|u64", "dss", SAME}};
}  // namespace

std::span<const PtxRow> conversions() {
  return kConversions;
}

double odd(double value, double rest) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  if (!std::isfinite(value) || std::isnan(rest) || rest == 0 || bits % 2 != 0) return value;
  return std::bit_cast<double>((rest > 0) == (value > 0) ? bits + 1 : bits - 1);
}
double number_in(const Instruction& i, Type type, std::uint64_t bits) {
  if (type.bits == 64) return std::bit_cast<double>(bits);
  if (type.base == Base::bf16) return model::widened(bits & 0xffff, model::kBfloat16);
  if (type.bits == 16) return model::widened(bits & 0xffff, model::kFp16);
  const double value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return i.flushes ? flushed(value) : value;
}

std::uint64_t rounded(const Instruction& i, Type type, double value) {
  const auto rounding = static_cast<Toward>(i.mode);
  if (i.relu && !std::isnan(value)) value = std::max(value, 0.0);
  if (i.saturates) value = std::isnan(value) ? 0 : std::clamp(value, 0.0, 1.0);
  if (i.flushes && type.bits == 32) value = flushed(value);
  switch (type.base) {
    case Base::bf16:
      return model::rounded_to(model::kBfloat16, value, rounding);
    case Base::tf32: {
      constexpr int kUnused = model::kFp32Format.fraction_bits - model::kTf32Format.fraction_bits;
      return model::rounded_to(model::kTf32Format, value, rounding) << kUnused;
    }
    default:
      if (type.bits == 64) return std::bit_cast<std::uint64_t>(value);
      return model::rounded_to(
          type.bits == 16 ? model::kFp16 : model::kFp32Format, value, rounding);
  }
}

Wide wide_value(Type type, std::uint64_t bits) {
  return type.base == Base::signed_ ? Wide{signed_value(type, bits)}
                                    : Wide{unsigned_value(type, bits)};
}

std::uint64_t clamped(Type type, Wide value) {
  const bool is_signed = type.base == Base::signed_;
  const Wide most = (Wide{1} << (type.bits - (is_signed ? 1 : 0))) - 1;
  const Wide least = is_signed ? -most - 1 : Wide{0};
  return unsigned_value(type, static_cast<std::uint64_t>(std::clamp(value, least, most)));
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
std::uint64_t cycles() {
  return static_cast<std::uint64_t>(clock64());
}
std::uint64_t of_gpu(int model::Gpu::*number) {
  const model::Gpu* const gpu = current_gpu();
  return gpu == nullptr ? 0 : static_cast<std::uint64_t>(gpu->*number);
}
std::uint64_t shared_bytes(bool only_dynamic) {
  std::uint64_t bytes = 0;
  for (const KernelArray& array : running_worker->memory().arrays) {
    if (array.shared && (!only_dynamic || array.name == "dynamic")) bytes += array.bytes;
  }
  return bytes;
}
// The lanes from `first` on, as bits.
std::uint64_t lanes_from(std::uint64_t first) {
  return 0xffffffffu & ~((std::uint64_t{1} << first) - 1);
}
// A block is a cluster of its own, and runs on the multiprocessor 0. The clock runs while it is
// read.
struct Special {
  std::string_view name;
  std::uint64_t (*value)();
};
constexpr Special kSpecials[] = {
#define ALONG_AXES(name, of)                             \
  {name ".x", [] { return std::uint64_t{of.x}; }},       \
      {name ".y", [] { return std::uint64_t{of.y}; }}, { \
    name ".z", [] { return std::uint64_t{of.z}; }        \
  }
    ALONG_AXES("%tid", threadIdx),
    ALONG_AXES("%ntid", blockDim),
    ALONG_AXES("%ctaid", blockIdx),
    ALONG_AXES("%nctaid", gridDim),
    ALONG_AXES("%clusterid", (simt::use_cluster(), blockIdx)),
    ALONG_AXES("%nclusterid", (simt::use_cluster(), gridDim)),
    ALONG_AXES("%cluster_ctaid", (simt::use_cluster(), dim3(0, 0, 0))),
    ALONG_AXES("%cluster_nctaid", (simt::use_cluster(), dim3(1))),
    {"%cluster_ctarank", first_of_cluster},
    {"%cluster_nctarank", one_of_cluster},
    {"%laneid", lane},
    {"%lanemask_eq", [] { return std::uint64_t{1} << lane(); }},
    {"%lanemask_lt", [] { return 0xffffffffu ^ lanes_from(lane()); }},
    {"%lanemask_le", [] { return 0xffffffffu ^ lanes_from(lane() + 1); }},
    {"%lanemask_gt", [] { return lanes_from(lane() + 1); }},
    {"%lanemask_ge", [] { return lanes_from(lane()); }},
    {"%warpid", [] { return thread_in_block() / warp_size(); }},
    {"%nwarpid", [] { return of_gpu(&model::Gpu::threads_per_sm) / warp_size(); }},
    {"%smid", [] { return std::uint64_t{0}; }},
    {"%nsmid", [] { return of_gpu(&model::Gpu::sms); }},
    {"%dynamic_smem_size", [] { return shared_bytes(true); }},
    {"%total_smem_size", [] { return shared_bytes(false); }},
    {"%globaltimer", nanoseconds},
    {"%globaltimer_lo", [] { return nanoseconds() & 0xffffffffu; }},
    {"%globaltimer_hi", [] { return nanoseconds() >> 32; }},
    {"%clock", [] { return cycles() & 0xffffffffu; }},
    {"%clock_hi", [] { return cycles() >> 32; }},
    {"%clock64", cycles},
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
