#include "simulator/trace/checks.h"

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "model/tensor_core.h"
#include "simulator/cuda/launch.h"
#include "simulator/trace/device_array.h"

namespace {

std::mt19937 random_bits(17);

// Integers of which many are near zero or the ends of their range.
std::uint32_t any_word() {
  static constexpr std::uint32_t kSpecial[] = {0,  1,          2,           31,         32,
                                               33, 0x7fffffff, 0x80000000u, 0xffffffffu};
  const auto bits = static_cast<std::uint32_t>(random_bits());
  return bits % 3 == 0 ? kSpecial[bits / 3 % 9] : bits;
}
std::uint64_t any_long_word() {
  const std::uint64_t high = any_word();
  return high << 32 | any_word();
}
float any_float() {
  static constexpr float kSpecial[] = {0, -0.0f, 1, -1.5f, 2.5f, 3.5f, 65504, 1e-7f, 3e9f, -3e9f};
  const auto bits = static_cast<std::uint32_t>(random_bits());
  return bits % 3 == 0 ? kSpecial[bits / 3 % 10]
                       : static_cast<float>(static_cast<std::int32_t>(bits)) / 65536;
}

using u32 = std::uint32_t;
using s32 = std::int32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;
s32 s(u32 a) {
  return static_cast<s32>(a);
}
s64 s(u64 a) {
  return static_cast<s64>(a);
}
u32 bits_of(float a) {
  return std::bit_cast<u32>(a);
}

// What the PTX ISA says of bfe, bfi and prmt.
u64 field(u64 a, u32 first, u32 count, u32 bits, bool is_signed) {
  first &= 255, count &= 255;
  const bool sign =
      is_signed && count != 0 && (a >> std::min(first + count - 1, bits - 1) & 1) != 0;
  u64 result = 0;
  for (u32 i = 0; i < bits; ++i) {
    const bool bit = i < count && first + i < bits ? (a >> (first + i) & 1) != 0 : sign;
    result |= u64{bit} << i;
  }
  return result;
}
u32 with_field(u32 a, u32 b, u32 first, u32 count) {
  for (u32 i = 0; i < (count & 255) && (first & 255) + i < 32; ++i) {
    const u32 at = (first & 255) + i;
    b = (b & ~(1u << at)) | (a >> i & 1) << at;
  }
  return b;
}
u32 permuted(u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 byte = static_cast<u32>((u64{b} << 32 | a) >> (c >> 4 * i & 7) * 8) & 255;
    result |= ((c >> 4 * i & 8) == 0 ? byte : byte > 127 ? 255 : 0) << 8 * i;
  }
  return result;
}
u32 dot(u32 a, u32 b, u32 c, bool is_signed) {
  for (int i = 0; i < 32; i += 8) {
    c += is_signed
             ? static_cast<u32>(static_cast<std::int8_t>(a >> i) * static_cast<std::int8_t>(b >> i))
             : (a >> i & 255) * (b >> i & 255);
  }
  return c;
}
u32 saturated(u32 a) {
  return static_cast<u32>(std::clamp(s(a), -128, 127)) & 255;
}

// Of what the lanes of thread t's warp have: the sum or the like, and an element of the matrix
// whose rows of 8 elements are 4 lanes each.
template <class Operation>
u32 of_warp(const std::vector<u32>& values, int t, Operation operation) {
  const u32* const first = &values[t / 32 * 32];
  return std::accumulate(first + 1, first + 32, *first, operation);
}
u32 element_of_warp(const std::vector<u32>& values, int t, int row, int column) {
  return values[t / 32 * 32 + row * 4 + column / 2] >> column % 2 * 16 & 0xffff;
}

constexpr int kThreads = 128;

// The numbers a, b and c of each thread, and instructions: their texts, and what each thread gets.
template <class In, class Out>
struct Instructions {
  explicit Instructions(In (*any)()) {
    for (int t = 0; t < kThreads; ++t) {
      as.push_back(any());
      bs.push_back(any());
      cs.push_back(any());
    }
  }
  template <class Value>
  void add(const char* text, Value value) {
    texts.push_back(text);
    for (int t = 0; t < kThreads; ++t) expected.push_back(value(t, as[t], bs[t], cs[t]));
  }
  std::string wrong_in(void (*kernel)(const In*, const In*, const In*, Out*)) const {
    const Array<In> a(as), b(bs), c(cs);
    Array<Out> out(expected.size());
    launch(kernel, dim3(1), dim3(kThreads), 0, a.device, b.device, c.device, out.device);
    if (std::string error = error_of_launch(); !error.empty()) return error;
    return difference(out.fetch(), expected, [&](std::size_t i) { return texts[i / kThreads]; });
  }

  std::vector<In> as, bs, cs;
  std::vector<std::string> texts;
  std::vector<Out> expected;
};
#define ADD(text, value)                                                                  \
  all.add(                                                                                \
      text, [&](int t [[maybe_unused]], auto a [[maybe_unused]], auto b [[maybe_unused]], \
                auto c [[maybe_unused]]) { return value; });

// Instructions with a 32-bit result of a, b and c, and what it is.
#define WORDS(X)                                                                                   \
  X("add.u32 %0, %1, %2;", a + b)                                                                  \
  X("sub.s32 %0, %1, %2;", a - b)                                                                  \
  X("mul.lo.u32 %0, %1, %2;", a* b)                                                                \
  X("mad.lo.s32 %0, %1, %2, %3;", a* b + c)                                                        \
  X("and.b32 %0, %1, %2;", a& b)                                                                   \
  X("or.b32 %0, %1, %2;", a | b)                                                                   \
  X("xor.b32 %0, %1, %2;", a ^ b)                                                                  \
  X("not.b32 %0, %1;", ~a)                                                                         \
  X("shl.b32 %0, %1, %2;", b > 31 ? 0 : a << b)                                                    \
  X("shr.u32 %0, %1, %2;", b > 31 ? 0 : a >> b)                                                    \
  X("shr.s32 %0, %1, %2;", static_cast<u32>(s(a) >> std::min(b, 31u)))                             \
  X("{ .reg .pred p;\n setp.lt.s32 p, %1, %2;\n selp.u32 %0, %3, 7, p; }", s(a) < s(b) ? c : 7)    \
  X("{ .reg .pred p, q;\n setp.lo.u32 p|q, %1, %2;\n@q mov.u32 %0, 1;\n@!q mov.u32 %0, 2;\n}",     \
    a < b ? 2u : 1u)                                                                               \
  X("{ .reg .pred p, q; setp.eq.u32 p, %1, 0; setp.ge.or.u32 q, %2, %3, p; selp.b32 %0, 1, 0, q; " \
    "}",                                                                                           \
    b >= c || a == 0 ? 1u : 0u)                                                                    \
  X("{ .reg .b16 l, h; mov.b32 {l, h}, %1; mov.b32 %0, {h, l}; }", a << 16 | a >> 16)              \
  X("{ .reg .b64 w; .reg .b32 x<2>; mov.b64 w, {%1, %2}; shr.u64 w, w, 16; "                       \
    "mov.b64 {x0, x1}, w; xor.b32 %0, x0, x1; }",                                                  \
    (a >> 16 | b << 16) ^ (b >> 16))                                                               \
  X("{ .reg .u32 i; mov.u32 i, 0; mov.u32 %0, %1;\nLOOP: add.u32 %0, %0, %2; add.u32 i, i, 1;\n"   \
    ".reg .pred p; setp.lt.u32 p, i, 5; @p bra LOOP;\n}",                                          \
    a + 5 * b)                                                                                     \
  X("{ .reg .u32 x, y; mov.u32 x, %1; mov.u32 y, 1; // a comment\n"                                \
    "{ .reg .u32 z<2>, x; .reg .pred p; mov.u32 z1, %2; mov.u32 x, z1; setp.lo.u32 p, x, %1; "     \
    "@!p bra END; mov.u32 y, 2; } END: add.u32 %0, x, y; }",                                       \
    a + (b < a ? 2 : 1))                                                                           \
  X("add.sat.s32 %0, %1, %2;",                                                                     \
    static_cast<u32>(std::clamp(s64{s(a)} + s(b), -s64{0x80000000}, s64{0x7fffffff})))             \
  X("mul.hi.u32 %0, %1, %2;", static_cast<u32>(u64{a} * b >> 32))                                  \
  X("mul.hi.s32 %0, %1, %2;", static_cast<u32>(s64{s(a)} * s(b) >> 32))                            \
  X("mad.hi.u32 %0, %1, %2, %3;", static_cast<u32>(u64{a} * b >> 32) + c)                          \
  X("{ .reg .u32 t; or.b32 t, %2, 1; div.u32 %0, %1, t; }", a / (b | 1))                           \
  X("{ .reg .u32 t; or.b32 t, %2, 1; rem.u32 %0, %1, t; }", a % (b | 1))                           \
  X("min.s32 %0, %1, %2;", static_cast<u32>(std::min(s(a), s(b))))                                 \
  X("max.u32 %0, %1, %2;", std::max(a, b))                                                         \
  X("abs.s32 %0, %1;", s(a) < 0 ? 0 - a : a)                                                       \
  X("neg.s32 %0, %1;", 0 - a)                                                                      \
  X("popc.b32 %0, %1;", static_cast<u32>(std::popcount(a)))                                        \
  X("clz.b32 %0, %1;", static_cast<u32>(std::countl_zero(a)))                                      \
  X("brev.b32 %0, %1;\nbrev.b32 %0, %0;\nshr.u32 %0, %0, 1;", a >> 1)                              \
  X("bfe.u32 %0, %1, %2, %3;", static_cast<u32>(field(a, b, c, 32, false)))                        \
  X("bfe.s32 %0, %1, %2, %3;", static_cast<u32>(field(a, b, c, 32, true)))                         \
  X("bfe.s32 %0, %1, 5, 7;", static_cast<u32>(field(a, 5, 7, 32, true)))                           \
  X("bfi.b32 %0, %1, %2, %3, 9;", with_field(a, b, c, 9))                                          \
  X("bfind.u32 %0, %1;", a == 0 ? ~0u : 31u - std::countl_zero(a))                                 \
  X("bfind.shiftamt.s32 %0, %1;",                                                                  \
    a + 1 < 2 ? ~0u : static_cast<u32>(std::countl_zero(s(a) < 0 ? ~a : a)))                       \
  X("lop3.b32 %0, %1, %2, %3, 0xe8;", (a & b) | (a & c) | (b & c))                                 \
  X("lop3.b32 %0, %1, %2, %3, 0xd8;", (c & b) | (~c & a))                                          \
  X("prmt.b32 %0, %1, %2, %3;", permuted(a, b, c))                                                 \
  X("prmt.b32 %0, %1, %2, 0x5140;", permuted(a, b, 0x5140))                                        \
  X("shf.l.wrap.b32 %0, %1, %2, %3;", static_cast<u32>((u64{b} << 32 | a) << (c & 31) >> 32))      \
  X("shf.r.clamp.b32 %0, %1, %2, %3;", static_cast<u32>((u64{b} << 32 | a) >> std::min(c, 32u)))   \
  X("{ .reg .u32 x; mad.lo.cc.u32 x, %1, %2, %3; madc.hi.u32 %0, %1, %2, %3; }",                   \
    static_cast<u32>((u64{a} * b + c) >> 32) + c)                                                  \
  X("{ .reg .u32 x; add.cc.u32 x, %1, %2; addc.u32 %0, %3, x; }",                                  \
    c + (a + b) + (a + b < a ? 1 : 0))                                                             \
  X("{ .reg .u32 x; sub.cc.u32 x, %1, %2; subc.u32 %0, %3, x; }", c - (a - b) - (a < b ? 1 : 0))   \
  X("{ .reg .u32 x; sad.s32 x, %1, %2, %3; cnot.b32 %0, %1; add.u32 %0, %0, x; }",                 \
    c + static_cast<u32>(std::abs(s64{s(a)} - s(b))) + (a == 0 ? 1 : 0))                           \
  X("bmsk.clamp.b32 %0, %1, 9;", a > 31 ? 0 : 511u << a)                                           \
  X("{ .reg .pred p; setp.lt.s32 p, %1, 0; bar.red.popc.u32 %0, 0, p; }",                          \
    static_cast<u32>(std::ranges::count_if(all.as, [](u32 x) { return s(x) < 0; })))               \
  X("{ .reg .u32 x; mov.u32 x, 5; match.any.sync.b32 %0, x, -1; }", ~0u)                           \
  X("{ .reg .u32 x; .reg .pred p; mov.u32 x, %%laneid; and.b32 x, x, 1;\n"                         \
    "match.all.sync.b32 x|p, x, -1; selp.u32 %0, 1, 0, p; add.u32 %0, %0, x; pmevent 1; }",        \
    0u)                                                                                            \
  X("activemask.b32 %0;", ~0u)                                                                     \
  X("dp4a.u32.u32 %0, %1, %2, %3;", dot(a, b, c, false))                                           \
  X("dp4a.s32.s32 %0, %1, %2, %3;", dot(a, b, c, true))                                            \
  X("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;", saturated(a) << 8 | saturated(b) | c << 16)         \
  X("redux.sync.add.u32 %0, %1, 0xffffffff;", of_warp(all.as, t, std::plus()))                     \
  X("redux.sync.or.b32 %0, %1, -1;", of_warp(all.as, t, std::bit_or()))                            \
  X("redux.sync.min.s32 %0, %1, -1;",                                                              \
    of_warp(all.as, t, [](u32 x, u32 y) { return s(x) < s(y) ? x : y; }))                          \
  X("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;",                                               \
    element_of_warp(all.as, t, t % 4 * 2, t % 32 / 4) |                                            \
        element_of_warp(all.as, t, t % 4 * 2 + 1, t % 32 / 4) << 16)                               \
  X("{ .reg .pred p; setp.lt.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }", [&] {               \
    u32 lanes = 0;                                                                                 \
    for (int l = 0; l < 32; ++l) lanes |= (all.as[t / 32 * 32 + l] >> 31) << l;                    \
    return lanes;                                                                                  \
  }())                                                                                             \
  X("{ .reg .pred p; setp.eq.u32 p, %1, %1; vote.sync.all.pred p, p, -1; selp.u32 %0, 1, 0, p; }", \
    1u)                                                                                            \
  X("mov.u32 %0, %%lanemask_lt;", (1u << t % 32) - 1)                                              \
  X("mov.u32 %0, %%lanemask_le;", (2u << t % 32) - 1)                                              \
  X("mov.u32 %0, %%lanemask_eq;", 1u << t % 32)                                                    \
  X("mov.u32 %0, %%lanemask_gt;", ~((2u << t % 32) - 1))                                           \
  X("mov.u32 %0, %%lanemask_ge;", ~((1u << t % 32) - 1))                                           \
  X("mov.u32 %0, %%dynamic_smem_size;", 0u)                                                        \
  X("{ .reg .u32 x, y; .reg .pred p; mov.u32 x, %%clock; mov.u32 y, %%clock; sub.s32 x, y, x; "    \
    "setp.gt.s32 p, x, 0; selp.u32 %0, 1, 0, p; }",                                                \
    1u)                                                                                            \
  X("{ .reg .u32 x, y; .reg .pred p; mov.u32 x, %%smid; mov.u32 y, %%nsmid; setp.lt.u32 p, x, y; " \
    "selp.u32 %0, 1, 0, p; }",                                                                     \
    1u)                                                                                            \
  X("cvt.u32.u8 %0, %1;", a & 255)                                                                 \
  X("cvt.s32.s16 %0, %1;", static_cast<u32>(static_cast<s32>(static_cast<std::int16_t>(a))))       \
  X("cvt.sat.u8.s32 %0, %1;", static_cast<u32>(std::clamp(s(a), 0, 255)))                          \
  X("mul.wide.u16 %0, %4, %5;", (a & 0xffff) * (b & 0xffff))                                       \
  X("mov.u32 %0, %%tid.x;", static_cast<u32>(t))                                                   \
  X("mov.u32 %0, %%laneid;", static_cast<u32>(t % 32))                                             \
  X("mov.u32 %0, %%ntid.x;", static_cast<u32>(kThreads))                                           \
  X("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;", all.as[t ^ 1])                                \
  X("shfl.sync.down.b32 %0, %1, 4, 31, -1;", all.as[t % 32 + 4 > 31 ? t : t + 4])                  \
  X("shfl.sync.idx.b32 %0, %1, 5, 0x181f, -1;", all.as[t / 8 * 8 + 5])                             \
  X("{ .reg .pred p; shfl.sync.up.b32 %0|p, %1, 3, 0, -1; @!p mov.u32 %0, 7; }",                   \
    t % 32 < 3 ? 7u : all.as[t - 3])

// The same with 64 bits.
#define LONG_WORDS(X)                                                                          \
  X("add.u64 %0, %1, %2;", a + b)                                                              \
  X("sub.s64 %0, %1, %2;", a - b)                                                              \
  X("mul.lo.u64 %0, %1, %2;", a* b)                                                            \
  X("mad.lo.u64 %0, %1, %2, %3;", a* b + c)                                                    \
  X("shl.b64 %0, %1, 13;", a << 13)                                                            \
  X("shr.s64 %0, %1, 13;", static_cast<u64>(s(a) >> 13))                                       \
  X("and.b64 %0, %1, %2;", a& b)                                                               \
  X("{ .reg .u32 x, y; cvt.u32.u64 x, %1; cvt.u32.u64 y, %2; mul.wide.u32 %0, x, y; }",        \
    (a & 0xffffffffu) * (b & 0xffffffffu))                                                     \
  X("{ .reg .s32 x, y; cvt.s32.s64 x, %1; cvt.s32.s64 y, %2; mad.wide.s32 %0, x, y, %3; }",    \
    static_cast<u64>(s64{static_cast<s32>(a)} * static_cast<s32>(b)) + c)                      \
  X("{ .reg .s32 x; cvt.s32.s64 x, %1; cvt.s64.s32 %0, x; }",                                  \
    static_cast<u64>(static_cast<s64>(static_cast<s32>(a))))                                   \
  X("mul.hi.u64 %0, %1, %2;", (a >> 32) * (b >> 32) + (((a & ~0u) * (b >> 32)) >> 32) +        \
                                  (((a >> 32) * (b & ~0u) + ((a & ~0u) * (b >> 32) & ~0u) +    \
                                    ((a & ~0u) * (b & ~0u) >> 32)) >>                          \
                                   32))                                                        \
  X("max.s64 %0, %1, %2;", static_cast<u64>(std::max(s(a), s(b))))                             \
  X("{ .reg .u32 x; popc.b64 x, %1; cvt.u64.u32 %0, x; }", static_cast<u64>(std::popcount(a))) \
  X("bfe.u64 %0, %1, 7, 33;", field(a, 7, 33, 64, false))                                      \
  X("{ .reg .f64 x, y, z; cvt.rn.f64.s64 x, %1; cvt.rn.f64.s64 y, %2; cvt.rn.f64.s64 z, %3; "  \
    "fma.rn.f64 x, x, y, z; mov.b64 %0, x; }",                                                 \
    std::bit_cast<u64>(std::fma(                                                               \
        static_cast<double>(s(a)), static_cast<double>(s(b)), static_cast<double>(s(c)))))     \
  X("{ .reg .f32 x; cvt.rn.f32.s64 x, %1; cvt.rzi.s64.f32 %0, x; }",                           \
    s(a) > 0x7fffffbfffffffff ? u64{0x7fffffffffffffff}                                        \
                              : static_cast<u64>(static_cast<s64>(static_cast<float>(s(a)))))  \
  X("cvta.to.global.u64 %0, %1;", a)

// Real numbers: the result has 32 bits.
using model::Toward;
u32 half(float a, Toward rounding = Toward::nearest) {
  return model::rounded_to(model::kFp16, a, rounding);
}
u32 brain(float a) {
  return model::rounded_to(model::kBfloat16, a, Toward::nearest);
}
u32 integer(double a) {
  return static_cast<u32>(static_cast<s32>(std::clamp(a, -2147483648.0, 2147483647.0)));
}

// The bits of a result: there is one NaN.
u32 result(float a) {
  return std::isnan(a) ? 0x7fffffffu : bits_of(a);
}
u32 half_of(double a) {
  return model::rounded_to(model::kFp16, a);
}
double as_half(float a) {
  return model::widened(half(a), model::kFp16);
}
double as_brain(float a) {
  return model::widened(brain(a), model::kBfloat16);
}
// 1000 times what an approximation gives, which differs in its last digits from GPU to GPU.
#define NEAR(X, instruction, arguments, expected)  \
  X("{ .reg .f32 x; " instruction " x, " arguments \
    "; mul.f32 x, x, 0f447A0000; cvt.rni.s32.f32 " \
    "%0, x; }",                                    \
    expected)
#define HALVES                                                                                     \
  "{ .reg .b32 x, y, z; cvt.rn.f16x2.f32 x, %1, %2; cvt.rn.f16x2.f32 y, %2, %3; cvt.rn.f16x2.f32 " \
  "z, %3, %1; "
#define REALS(X)                                                                                \
  X("add.f32 %0, %1, %2;", bits_of(a + b))                                                      \
  X("{ .reg .f64 x, y; cvt.f64.f32 x, %1; cvt.f64.f32 y, %2; "                                  \
    "add.f64 x, x, y; cvt.rn.f32.f64 %0, x; }",                                                 \
    bits_of(a + b))                                                                             \
  X("cvt.rni.s32.f32 %0, %1;", integer(std::nearbyint(double{a})))                              \
  X("cvt.rni.sat.s8.f32 %0, %1;",                                                               \
    static_cast<u32>(static_cast<s32>(std::clamp(std::nearbyint(a), -128.f, 127.f))) & 255)     \
  X("sub.rn.f32 %0, %1, %2;", bits_of(a - b))                                                   \
  X("mul.ftz.f32 %0, %1, %2;",                                                                  \
    std::fabs(a* b) < 1.17549435e-38f ? bits_of(std::copysign(0.f, a * b)) : bits_of(a * b))    \
  X("fma.rn.f32 %0, %1, %2, %3;", bits_of(std::fmaf(a, b, c)))                                  \
  X("mad.rn.f32 %0, %1, %2, %3;", bits_of(std::fmaf(a, b, c)))                                  \
  X("fma.rn.sat.f32 %0, %1, %2, %3;",                                                           \
    bits_of(std::fmaf(a, b, c) > 0 ? std::min(std::fmaf(a, b, c), 1.f) : 0))                    \
  X("add.rz.f32 %0, 0f4F32D05E, 0fB3D6BF95;", 0x4f32d05du)                                      \
  X("add.rp.f32 %0, 0f3F800000, 0f00000001;", 0x3f800001u)                                      \
  X("div.rn.f32 %0, %1, %2;", result(a / b))                                                    \
  X("rcp.rn.f32 %0, %1;", result(1 / a))                                                        \
  X("sqrt.rn.f32 %0, %1;", result(std::sqrt(a)))                                                \
  X("min.f32 %0, %1, %2;", a == b ? bits_of(std::signbit(a) ? a : b) : bits_of(std::min(a, b))) \
  X("max.NaN.f32 %0, %1, 0f7FC00000;", 0x7fffffffu)                                             \
  X("min.f32 %0, %1, 0f7FC00000;", bits_of(a))                                                  \
  X("abs.f32 %0, %1;", bits_of(std::fabs(a)))                                                   \
  X("neg.f32 %0, %1;", bits_of(-a))                                                             \
  X("copysign.f32 %0, %1, %2;", bits_of(std::copysign(b, a)))                                   \
  NEAR(X, "ex2.approx.ftz.f32", "0f3F000000", 1414)                                             \
  NEAR(X, "lg2.approx.f32", "0f41200000", 3322)                                                 \
  NEAR(X, "tanh.approx.f32", "0f3F000000", 462)                                                 \
  NEAR(X, "sin.approx.f32", "0f3F800000", 841)                                                  \
  NEAR(X, "cos.approx.ftz.f32", "0f3F800000", 540)                                              \
  NEAR(X, "rcp.approx.ftz.f32", "0f40400000", 333)                                              \
  NEAR(X, "rsqrt.approx.f32", "0f40400000", 577)                                                \
  NEAR(X, "sqrt.approx.f32", "0f40000000", 1414)                                                \
  NEAR(X, "div.full.f32", "0f3F800000, 0f40400000", 333)                                        \
  X(HALVES "fma.rn.f16x2 %0, x, y, z; }",                                                       \
    half_of(std::fma(as_half(a), as_half(b), as_half(c))) << 16 |                               \
        half_of(std::fma(as_half(b), as_half(c), as_half(a))))                                  \
  X(HALVES "add.f16x2 %0, x, y; }",                                                             \
    half_of(as_half(a) + as_half(b)) << 16 | half_of(as_half(b) + as_half(c)))                  \
  X(HALVES "max.f16x2 %0, x, x; }", half(a) << 16 | half(b))                                    \
  X("{ .reg .b16 x, y; cvt.rn.bf16.f32 x, %1; cvt.rn.bf16.f32 y, %2; fma.rn.bf16 x, x, y, y; "  \
    "mov.b32 %0, {x, x}; }",                                                                    \
    model::rounded_to(model::kBfloat16, std::fma(as_brain(a), as_brain(b), as_brain(b))) *      \
        0x10001u)                                                                               \
  X("cvt.rzi.s32.f32 %0, %1;", integer(std::trunc(double{a})))                                  \
  X("cvt.rmi.s32.f32 %0, %1;", integer(std::floor(double{a})))                                  \
  X("cvt.rpi.f32.f32 %0, %1;", bits_of(std::ceil(a)))                                           \
  X("{ .reg .f16 h; cvt.rn.f16.f32 h, %1; cvt.f32.f16 %0, h; }",                                \
    bits_of(model::widened(half(a), model::kFp16)))                                             \
  X("{ .reg .b16 h; cvt.rz.f16.f32 h, %1; mov.b32 %0, {h, h}; }",                               \
    half(a, Toward::zero) * 0x10001u)                                                           \
  X("cvt.rn.f16x2.f32 %0, %1, %2;", half(a) << 16 | half(b))                                    \
  X("cvt.rn.bf16x2.f32 %0, %1, %2;", brain(a) << 16 | brain(b))                                 \
  X("cvt.rna.tf32.f32 %0, %1;", (bits_of(a) + 0x1000u) & 0xffffe000u)                           \
  X("{ .reg .pred p; setp.gt.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }", a > b ? 1u : 0u)

// Kernels whose threads run all of these instructions, and what is wrong with their results.
#define COMPUTES(name, INSTRUCTIONS, RUN, In, Out, any)                      \
  __global__ void name(const In* as, const In* bs, const In* cs, Out* out) { \
    const In a = as[threadIdx.x], b = bs[threadIdx.x], c = cs[threadIdx.x];  \
    out += threadIdx.x;                                                      \
    INSTRUCTIONS(RUN)                                                        \
  }                                                                          \
  std::string wrong_in_##name() {                                            \
    Instructions<In, Out> all(any);                                          \
    INSTRUCTIONS(ADD)                                                        \
    return all.wrong_in(name);                                               \
  }
#define RUN(text, Out, kind, ...)                               \
  {                                                             \
    Out d = 0;                                                  \
    asm volatile(text : "=&" kind(d) : __VA_ARGS__ : "memory"); \
    *out = d;                                                   \
    out += kThreads;                                            \
  }
#define RUN_WORD(text, value)                                                      \
  RUN(text, u32, "r", "r"(a), "r"(b), "r"(c), "h"(static_cast<unsigned short>(a)), \
      "h"(static_cast<unsigned short>(b)))
#define RUN_LONG(text, value) RUN(text, u64, "l", "l"(a), "l"(b), "l"(c))
#define RUN_REAL(text, value) RUN(text, u32, "r", "f"(a), "f"(b), "f"(c))
COMPUTES(words, WORDS, RUN_WORD, u32, u32, any_word)
COMPUTES(long_words, LONG_WORDS, RUN_LONG, u64, u64, any_long_word)
COMPUTES(reals, REALS, RUN_REAL, float, u32, any_float)

#define TWO(kind, x) kind(x[0]), kind(x[1])
#define FOUR(kind, x) TWO(kind, x), kind(x[2]), kind(x[3])
#define LDMATRIX(instruction, ...) \
  asm volatile("ldmatrix.sync.aligned." instruction ";\n" : __VA_ARGS__ : "r"(address))

// Matrices of 16-bit elements: element (row, column) of matrix m is 1000 m + 16 row + column.
template <int kMatrices, bool kTransposed>
__global__ void load_matrices(u32* out) {
  __shared__ __align__(16) unsigned short tile[4][8][8];
  for (int i = threadIdx.x; i < 256; i += 32) {
    tile[i / 64][i / 8 % 8][i % 8] =
        static_cast<unsigned short>(i / 64 * 1000 + i / 8 % 8 * 16 + i % 8);
  }
  __syncthreads();
  u32 d[4] = {7, 7, 7, 7};
  u32 address;
  asm("{ .reg .u64 p; cvta.to.shared.u64 p, %1; cvt.u32.u64 %0, p; }\n"
      : "=r"(address)
      : "l"(&tile[threadIdx.x / 8 % kMatrices][threadIdx.x % 8][0]));
  if constexpr (kMatrices == 1) {
    LDMATRIX("m8n8.x1.trans.shared.b16 {%0}, [%1]", "=r"(d[0]));
  } else if constexpr (kMatrices == 2) {
    LDMATRIX("x2.m8n8.shared.b16 {%0, %1}, [%2]", TWO("=r", d));
  } else if constexpr (kTransposed) {
    LDMATRIX("m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4]", FOUR("=r", d));
  } else {
    LDMATRIX("m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4]", FOUR("=r", d));
  }
  for (int i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = d[i];
}

template <int kMatrices, bool kTransposed>
std::string loads_matrices() {
  std::vector<u32> expected(128, 7);
  for (int m = 0; m < kMatrices; ++m) {
    for (int l = 0; l < 32; ++l) {
      const auto at = [&](int row, int column) {
        return static_cast<u32>(m * 1000 + row * 16 + column);
      };
      expected[m * 32 + l] = kTransposed ? at(l % 4 * 2, l / 4) | at(l % 4 * 2 + 1, l / 4) << 16
                                         : at(l / 4, l % 4 * 2) | at(l / 4, l % 4 * 2 + 1) << 16;
    }
  }
  return wrong_in(load_matrices<kMatrices, kTransposed>, dim3(1), dim3(32), 0, expected);
}

// stmatrix, read back word by word.
__global__ void store_matrices(u32* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ __align__(16) u32 tile[2][8][4];
  const auto address =
      static_cast<u32>(__cvta_generic_to_shared(&tile[threadIdx.x / 8 % 2][threadIdx.x % 8][0]));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(address),
               "r"(threadIdx.x), "r"(threadIdx.x + 100)
               : "memory");
  __syncwarp();
  out[threadIdx.x] = tile[0][threadIdx.x / 4][threadIdx.x % 4];
  out[32 + threadIdx.x] = tile[1][threadIdx.x / 4][threadIdx.x % 4];
#endif
}
std::string stores_matrices() {
  std::vector<u32> expected;
  for (u32 i = 0; i < 64; ++i) expected.push_back(i < 32 ? i : i + 68);
  return wrong_in(store_matrices, dim3(1), dim3(32), 0, expected);
}

// Atomics of 64 threads, in CUDA C++ and in PTX.
__global__ void add_written(u32* out) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 3);
  atomicAdd(out, threadIdx.x);
  out[16 + threadIdx.x] = atomicAdd(out + 1, 0);
  atomicMax(reinterpret_cast<int*>(out) + 2, -5 - static_cast<int>(threadIdx.x));
  atomicAdd(reinterpret_cast<float*>(out) + 3, 0.5f);
  atomicAdd(reinterpret_cast<unsigned long long*>(out) + 2, 0x200000001ull);
  atomicInc(out + 6, 5);
  atomicCAS(out + 7, 0, 9);
  atomicExch(out + 8, 11);
  __syncthreads();
  if (threadIdx.x == 0) out[9] = count;
}
__global__ void add_in_ptx(u32* out) {
  __shared__ u32 count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const auto at = static_cast<u32>(__cvta_generic_to_shared(&count));
  u32 old = 0;
  asm volatile(
      "{ .reg .pred s, g, l; isspacep.shared s, %1; isspacep.global g, %1; isspacep.local l, %2;\n"
      "@g trap; isspacep.global g, %2; @g trap; @!l trap; isspacep.global g, %3; @!g trap;\n"
      "@s red.shared.add.u32 [%0], 3; }" ::"r"(at),
      "l"(&count), "l"(&old), "l"(out)
      : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" ::"l"(out), "r"(threadIdx.x) : "memory");
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(out + 1), "r"(0) : "memory");
  out[16 + threadIdx.x] = old;
  asm volatile("red.global.max.s32 [%0 + 8], %1;" ::"l"(out),
               "r"(-5 - static_cast<int>(threadIdx.x))
               : "memory");
  asm volatile("red.global.add.f32 [%0 + 12], 0f3F000000;" ::"l"(out) : "memory");
  asm volatile("red.global.add.u64 [%0 + 16], %1;" ::"l"(out), "l"(0x200000001ull) : "memory");
  asm volatile("atom.global.inc.u32 %0, [%1 + 24], 5;" : "=r"(old) : "l"(out) : "memory");
  asm volatile("atom.cas.b32 %0, [%1], 0, 9;" : "=r"(old) : "l"(out + 7) : "memory");
  asm volatile("atom.global.exch.b32 %0, [%1], 11;" : "=r"(old) : "l"(out + 8) : "memory");
  __syncthreads();
  if (threadIdx.x == 0) out[9] = count;
}
template <void (*kernel)(u32*)>
std::vector<u32> added() {
  std::vector<u32> values(128);
  values[2] = static_cast<u32>(-100);
  Array<u32> out(values);
  launch(kernel, dim3(1), dim3(64), 0, out.device);
  return out.fetch();
}
std::string adds_alike() {
  const std::vector<u32> written = added<add_written>(), in_ptx = added<add_in_ptx>();
  return in_ptx == written && in_ptx[0] == 2016 && in_ptx[3] == bits_of(32) && in_ptx[6] == 4 &&
                 in_ptx[9] == 192
             ? ""
             : "sums";
}
// Two halves at once.
__global__ void add_halves(u32* out) {
  asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(out), "r"(0x3c004000u) : "memory");
}
std::string adds_halves() {
  Array<u32> out(std::vector<u32>(1));
  launch(add_halves, dim3(1), dim3(32), 0, out.device);
  return out.fetch()[0] == (half(32) << 16 | half(64)) ? "" : "sums";
}

// mma of small integers, of which every sum is exact. Element (row, k) of a and (k, column) of b.
float a_at(int row, int k) {
  return static_cast<float>((row * 7 + k * 3) % 11 - 5);
}
float b_at(int k, int column) {
  return static_cast<float>((k * 5 + column * 2) % 9 - 4);
}

// The kernels' threads have the words of a, b and d that an mma takes.
#define D_A4_B2_D "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
#define D_A2_B1_D "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
#define A4_B2 FOUR("r", a), TWO("r", b)
#define A2_B1 TWO("r", a), "r"(b[0])
#define MMA(name, instruction, sums, ...)                             \
  __global__ void name(const u32* as, const u32* bs, u32* out) {      \
    u32 a[4], b[2], d[4] = {};                                        \
    for (int i = 0; i < 4; ++i) a[i] = as[i * 32 + threadIdx.x];      \
    for (int i = 0; i < 2; ++i) b[i] = bs[i * 32 + threadIdx.x];      \
    float* const f [[maybe_unused]] = reinterpret_cast<float*>(d);    \
    asm volatile("mma.sync.aligned." instruction:sums : __VA_ARGS__); \
    for (int i = 0; i < 4; ++i) out[i * 32 + threadIdx.x] = d[i];     \
  }
MMA(k16_f16,
    "m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};\n",
    FOUR("=f", f), A4_B2, FOUR("f", f))
MMA(k16_f16_f16, "m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};",
    TWO("=r", d), A4_B2, TWO("r", d))
MMA(k16_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32 " D_A4_B2_D, FOUR("+f", f), A4_B2)
MMA(k8_f16, "m16n8k8.row.col.f32.f16.f16.f32 " D_A2_B1_D, FOUR("+f", f), A2_B1)
MMA(k8_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32 " D_A4_B2_D, FOUR("+f", f), A4_B2)
MMA(k4_tf32, "m16n8k4.row.col.f32.tf32.tf32.f32 " D_A2_B1_D, FOUR("+f", f), A2_B1)
MMA(k32_s8, "m16n8k32.row.col.s32.s8.s8.s32 " D_A4_B2_D, FOUR("+r", d), A4_B2)

u32 byte_of(float a) {
  return integer(a) & 255;
}

// Of so many columns of a, whose elements have so many bits each, as the sums have. The fragments
// are spread as in the figures of the PTX ISA 9.0, "Matrix fragments for mma".
template <
    auto kernel, int depth, int bits, auto encoded, int bits_of_sum = 32,
    auto encoded_sum = bits_of>
std::string multiplies() {
  constexpr int kInWord = 32 / bits, kSums = 32 / bits_of_sum;
  std::vector<u32> as(128), bs(64), expected(128);
  for (int l = 0; l < 32; ++l) {
    for (int e = 0; e < kInWord; ++e) {
      for (int i = 0; i < 16 * depth / 32 / kInWord; ++i) {
        const int row = l / 4 + (i % 2 == 1 ? 8 : 0);
        const int k = l % 4 * kInWord + e + (i >= 2 ? depth / 2 : 0);
        as[i * 32 + l] |= encoded(a_at(row, k)) << e * bits % 32;
      }
      for (int i = 0; i < 8 * depth / 32 / kInWord; ++i) {
        const int k = l % 4 * kInWord + e + (i == 1 ? depth / 2 : 0);
        bs[i * 32 + l] |= encoded(b_at(k, l / 4)) << e * bits % 32;
      }
    }
    for (int i = 0; i < 4; ++i) {
      float sum = 0;
      for (int k = 0; k < depth; ++k)
        sum += a_at(l / 4 + i / 2 * 8, k) * b_at(k, l % 4 * 2 + i % 2);
      expected[i / kSums * 32 + l] |= encoded_sum(sum) << i % kSums * bits_of_sum % 32;
    }
  }
  const Array<u32> a(as), b(bs);
  return wrong_in(kernel, dim3(1), dim3(32), 0, expected, a.device, b.device);
}

// wgmma.m64n16k16 of the same integers, with a in shared memory or in registers. The tiles are not
// swizzled: 8 rows of 16 bytes follow each other, then the next 8 columns, then the next 8 rows. Or
// each 8 x 8 of the tiles in shared memory is transposed.
constexpr int kWgmmaColumns = 16;

__host__ __device__ inline int place_in_tile(int row, int k, bool transposed) {
  const int in_rows = row % 8 * 8 + k % 8, in_columns = k % 8 * 8 + row % 8;
  return row / 8 * 128 + k / 8 * 64 + (transposed ? in_columns : in_rows);
}

template <bool kInRegisters, bool kTransposed, bool kAIsFixed, bool kBIsFixed>
__global__ void multiply_together(const unsigned short* as, const unsigned short* bs, u32* out) {
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(128) unsigned short tiles[];  // a: 64 x 16, b: 16 x 16
  __shared__ __align__(128) unsigned short fixed_a[kAIsFixed ? 64 * 16 : 1];
  __shared__ __align__(128) unsigned short fixed_b[kBIsFixed ? kWgmmaColumns * 16 : 1];
  unsigned short* const tile_of_a = kAIsFixed ? fixed_a : tiles;
  unsigned short* const tile_of_b = kBIsFixed ? fixed_b : tiles + 64 * 16;
  for (int i = threadIdx.x; i < 64 * 16; i += 128) tile_of_a[i] = as[i];
  for (int i = threadIdx.x; i < kWgmmaColumns * 16; i += 128) tile_of_b[i] = bs[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const auto descriptor = [](const void* tile) {
    const auto at = static_cast<u32>(__cvta_generic_to_shared(tile));
    return static_cast<u64>((at & 0x3ffff) >> 4) | u64{128 >> 4} << 16 | u64{256 >> 4} << 32;
  };
  const u64 a_tile = descriptor(tile_of_a), b_tile = descriptor(tile_of_b);
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, k = threadIdx.x % 4 * 2;
  u32 a[4];
  for (int i = 0; i < 4; ++i) {
    a[i] = *reinterpret_cast<const u32*>(
        tile_of_a + place_in_tile(row + i % 2 * 8, k + i / 2 * 8, false));
  }
  float d[8] = {1, 1, 1, 1, 1, 1, 1, 1};
#define ACCUMULATORS \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int round = 0; round < 2; ++round) {
    if constexpr (kInRegisters) {
      asm volatile(
          "{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\n"
          "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, p, 1, 1, %14;\n}"
          : ACCUMULATORS
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b_tile), "r"(round),
            "n"(int{kTransposed}));
    } else {
      asm volatile(
          "{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
          "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 "
          "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, %11, %12, %13, %13;\n}"
          : ACCUMULATORS
          : "l"(a_tile), "l"(b_tile), "r"(round), "n"(1), "n"(1), "n"(int{kTransposed}));
    }
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#undef ACCUMULATORS
  for (int i = 0; i < 8; ++i) {
    out[(row + i / 2 % 2 * 8) * kWgmmaColumns + i / 4 * 8 + k + i % 2] = __float_as_uint(d[i]);
  }
#endif
}

template <
    bool kInRegisters, bool kTransposed = false, bool kAIsFixed = false, bool kBIsFixed = false>
std::string multiplies_together() {
  std::vector<unsigned short> as(64 * 16), bs(kWgmmaColumns * 16);
  std::vector<u32> expected;
  for (int k = 0; k < 16; ++k) {
    for (int row = 0; row < 64; ++row) {
      as[place_in_tile(row, k, kTransposed && !kInRegisters)] =
          static_cast<unsigned short>(brain(a_at(row, k)));
    }
    for (int n = 0; n < kWgmmaColumns; ++n) {
      bs[place_in_tile(n, k, kTransposed)] = static_cast<unsigned short>(brain(b_at(k, n)));
    }
  }
  for (int row = 0; row < 64; ++row) {
    for (int n = 0; n < kWgmmaColumns; ++n) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) sum += a_at(row, k) * b_at(k, n);
      // The first of two rounds does not add to what d held.
      expected.push_back(bits_of(2 * sum));
    }
  }
  const Array<unsigned short> a(as), b(bs);
  return wrong_in(
      multiply_together<kInRegisters, kTransposed, kAIsFixed, kBIsFixed>, dim3(1), dim3(128),
      (64 + kWgmmaColumns) * 32, expected, a.device, b.device);
}

// Copies 64 words to shared memory, and from there to `out`, with the copy engine.
__global__ void copy_bytes(const u32* in, u32* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ std::uint64_t barrier;
  __shared__ __align__(16) u32 words[64];
  const auto at = static_cast<u32>(__cvta_generic_to_shared(&barrier));
  const auto to = static_cast<u32>(__cvta_generic_to_shared(words));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, "
        "[%3];" ::"r"(to),
        "l"(in), "r"(256), "r"(at)
        : "memory");
  }
  u32 done = 0;
  while (done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(at)
        : "memory");
  }
  words[threadIdx.x] += 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(out), "r"(to)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}
std::string copies_bytes() {
  std::vector<u32> values, expected;
  for (u32 t = 0; t < 64; ++t) {
    values.push_back(3 * t);
    expected.push_back(3 * t + 1);
  }
  const Array<u32> in(values);
  return wrong_in(copy_bytes, dim3(1), dim3(64), 0, expected, in.device);
}

// Phases of a barrier, as libraries write them: with a token, and with the parity in a loop.
__global__ void pass_around(u32* out) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  __shared__ std::uint64_t barrier;
  __shared__ u32 slot[64];
  const auto at = static_cast<u32>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(64));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  u32 value = threadIdx.x;
  for (u32 round = 0; round < 4; ++round) {
    slot[threadIdx.x] = value;
    if (round % 2 == 0) {
      asm volatile(
          "{\n.reg .pred P1;\n.reg .b64 state;\n"
          "mbarrier.arrive.shared::cta.b64 state, [%0];\n"
          "LAB_%=:\n"
          "mbarrier.try_wait.shared::cta.b64 P1, [%0], state;\n"
          "@P1 bra DONE;\n"
          "bra LAB_%=;\n"
          "DONE:\n}" ::"r"(at)
          : "memory");
    } else {
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
      u32 done = 0;
      while (done == 0) {
        asm volatile(
            "{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n}"
            : "=r"(done)
            : "r"(at), "r"(round & 1)
            : "memory");
      }
    }
    const u32 next = slot[(threadIdx.x + 1) % 64];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    value = next;
  }
  out[threadIdx.x] = value;
#endif
}
std::string passes_phases() {
  std::vector<u32> expected;
  for (u32 t = 0; t < 64; ++t) expected.push_back((t + 4) % 64);
  return wrong_in(pass_around, dim3(1), dim3(64), 0, expected);
}

// The same kernels in CUDA C++ and in PTX. Lane l loads four floats, of which every fifth lane
// skips the second load, and stores them with a stride of two.
__global__ void copy_written(const float* from, float* to) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  float4 v = *reinterpret_cast<const float4*>(from + 4 * t);
  float w = 0;
  if (t % 5 != 0) w = from[t];
  if (t % 7 != 0) w += from[256 + t];
  *reinterpret_cast<float4*>(&tile[4 * t]) = v;
  __syncthreads();
  const float x = tile[2 * t], y = tile[4 * (t % 16)];
  to[2 * t] = x + y + w;
}
__global__ void copy_in_ptx(const float* from, float* to) {
  __shared__ __align__(16) float tile[256];
  const int t = threadIdx.x;
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(from + 4 * t));
  float w = 0, u = 0;
  asm volatile(
      "{\n .reg .pred p, q;\n setp.ne.b32 p, %3, 0;\n setp.ne.b32 q, %4, 0;\n"
      " mov.f32 %0, 0f00000000;\n mov.f32 %1, 0f00000000;\n"
      " @p ld.global.f32 %0, [%2];\n @q ld.global.f32 %1, [%2 + 1024];\n}"
      : "=&f"(w), "=&f"(u)
      : "l"(from + t), "r"(t % 5), "r"(t % 7));
  const auto at = static_cast<u32>(__cvta_generic_to_shared(tile));
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at + 16 * t), "f"(v.x), "f"(v.y),
               "f"(v.z), "f"(v.w)
               : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  float x, y;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at + 8 * t));
  asm volatile("ld.shared.b32 %0, [%1];" : "=f"(y) : "r"(at + 16 * (t % 16)));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(to + 2 * t), "f"(x + y + w + u) : "memory");
}

__global__ void copy_async_written(const float* from, float* to) {
  __shared__ __align__(16) float tile[2][128];
  const int t = threadIdx.x;
  __pipeline_memcpy_async(&tile[0][4 * t], from + 4 * t, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(&tile[1][4 * t], from + 128 + 4 * t, 16, t < 16 ? 0 : 8);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  __syncthreads();
  to[t] = tile[0][127 - t];
  __pipeline_wait_prior(0);
  __syncthreads();
  to[32 + t] = tile[1][127 - t];
}
__global__ void copy_async_in_ptx(const float* from, float* to) {
  __shared__ __align__(16) float tile[2][128];
  const int t = threadIdx.x;
  const auto at = static_cast<u32>(__cvta_generic_to_shared(&tile[0][4 * t]));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n" ::"r"(at), "l"(from + 4 * t)
               : "memory");
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;\n" ::"r"(at + 512),
               "l"(from + 128 + 4 * t), "n"(16), "r"(t < 16 ? 16 : 8)
               : "memory");
  asm volatile("cp.async.commit_group;\n" ::: "memory");
  asm volatile("cp.async.wait_group %0;\n" ::"n"(1) : "memory");
  __syncthreads();
  to[t] = tile[0][127 - t];
  asm volatile("cp.async.wait_all;\n" ::: "memory");
  __syncthreads();
  to[32 + t] = tile[1][127 - t];
}

template <void (*kernel)(const float*, float*), int kBlockThreads>
std::vector<float> copied() {
  std::vector<float> values(1024);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101);
  const Array<float> from(values);
  Array<float> to(std::vector<float>(256, 0.0f));
  launch(kernel, dim3(1), dim3(kBlockThreads), 0, from.device, to.device);
  return to.fetch();
}

std::string copies_alike() {
  if (copied<copy_written, 64>() != copied<copy_in_ptx, 64>()) return "ld and st";
  if (copied<copy_async_written, 32>() != copied<copy_async_in_ptx, 32>()) return "cp.async";
  return "";
}

// Small kernels with a mistake.
using Body = void (*)(float* shared, u32 at, float* out);
template <Body body>
__global__ void small(float* out) {
  __shared__ __align__(16) float tile[128];
  tile[threadIdx.x] = 0;
  __syncthreads();
  body(tile, static_cast<u32>(__cvta_generic_to_shared(tile)), out);
}
template <Body body>
std::string run_small() {
  const Array<float> out(std::vector<float>(1024, 0.0f));
  launch(small<body>, dim3(1), dim3(64), 0, out.device);
  return "";
}
#define SMALL run_small < [](float* tile, u32 at, float* out)
#define COPIES(in_flight)                                                       \
  SMALL {                                                                       \
    asm volatile(                                                               \
        "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + 4 * threadIdx.x), \
        "l"(out + threadIdx.x));                                                \
    asm volatile("cp.async.commit_group;");                                     \
    asm volatile("cp.async.wait_group " #in_flight ";");                        \
    __syncthreads();                                                            \
    out[64 + threadIdx.x] = tile[63 - threadIdx.x];                             \
  }
#define LOADS(space, from)                                        \
  SMALL {                                                         \
    float x;                                                      \
    asm volatile("ld." #space ".f32 %0, [%1];" : "=f"(x) : from); \
    out[threadIdx.x] = x + tile[0] + static_cast<float>(at);      \
  }

}  // namespace

extern const std::vector<trace::Check> trace::ptx_checks = {
    {"instructions with 32 bits", wrong_in_words},
    {"instructions with 64 bits", wrong_in_long_words},
    {"instructions with real numbers", wrong_in_reals},
    {"ldmatrix.x1.trans", loads_matrices<1, true>},
    {"ldmatrix.x2", loads_matrices<2, false>},
    {"ldmatrix.x4", loads_matrices<4, false>},
    {"ldmatrix.x4.trans", loads_matrices<4, true>},
    {"stmatrix.x2", stores_matrices},
    {"atom and red as in CUDA C++", adds_alike},
    {"red of two halves", adds_halves},
    {"mma m16n8k16 f16, sums in f32", multiplies<k16_f16, 16, 16, half_of>},
    {"mma m16n8k16 f16, sums in f16", multiplies<k16_f16_f16, 16, 16, half_of, 16, half_of>},
    {"mma m16n8k16 bf16", multiplies<k16_bf16, 16, 16, brain>},
    {"mma m16n8k8 f16", multiplies<k8_f16, 8, 16, half_of>},
    {"mma m16n8k8 tf32", multiplies<k8_tf32, 8, 32, bits_of>},
    {"mma m16n8k4 tf32", multiplies<k4_tf32, 4, 32, bits_of>},
    {"mma m16n8k32 s8", multiplies<k32_s8, 32, 8, byte_of, 32, integer>},
    {"wgmma m64n16k16 bf16, a in shared memory", multiplies_together<false>},
    {"wgmma m64n16k16 bf16, a in registers", multiplies_together<true>},
    {"wgmma m64n16k16 bf16, both transposed", multiplies_together<false, true>},
    {"wgmma m64n16k16 bf16, b transposed", multiplies_together<true, true>},
    {"wgmma of static arrays", multiplies_together<false, false, true, true>},
    {"wgmma, a in a static array", multiplies_together<false, true, true, false>},
    {"wgmma, b in a static array", multiplies_together<true, false, false, true>},
    {"cp.async.bulk without a tensor map", copies_bytes},
    {"mbarrier and bar.sync", passes_phases},
    {"ld, st and cp.async as in CUDA C++", copies_alike},
};

#ifndef PTX_MAIN

extern const std::vector<trace::PtxTwins> trace::ptx_twins = {
    {"ld and st", copied<copy_written, 64>, copied<copy_in_ptx, 64>},
    {"cp.async", copied<copy_async_written, 32>, copied<copy_async_in_ptx, 32>},
    {"atom and red", added<add_written>, added<add_in_ptx>},
};

// clang-format off
extern const std::vector<trace::Misuse> trace::ptx_misuses = {
    {"a copy that is waited for", COPIES(0)>, ""},
    {"a copy that is not waited for", COPIES(1)>, "copy_not_waited_for"},
    {"a store without a barrier before the load", SMALL {
       asm volatile("st.shared.f32 [%0], %1;" ::"r"(at + 4 * threadIdx.x), "f"(1.0f));
       out[threadIdx.x] = tile[63 - threadIdx.x];
     }>, "race"},
    {"a load beyond shared memory", LOADS(shared, "r"(at + 512 + 4 * threadIdx.x))>,
     "out_of_bounds"},
    {"a load far beyond shared memory", LOADS(shared, "r"(at + 0x40000000u))>, "out_of_bounds"},
    {"a load beyond global memory", LOADS(global, "l"(out + 1024 + threadIdx.x))>, "out_of_bounds"},
    {"a misaligned vector", SMALL {
       float x, y;
       asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(at + 4));
       out[threadIdx.x] = x + y + tile[0];
     }>, "misaligned"},
    {"an unknown instruction that no thread comes to", SMALL {
       if (tile[0] != 0) asm volatile("tensormap.frobnicate.global [%0], %1;" ::"l"(out), "r"(at));
       asm volatile("{ .reg .pred p; setp.eq.u32 p, 1, 0; @p frobnicate.sync [%0]; }" ::"l"(out));
     }>, ""},
    {"an unknown instruction", SMALL {
       if (threadIdx.x == 5) asm volatile("frobnicate.sync.b32 [%0], %1;"
                                          ::"l"(out + static_cast<int>(tile[0])), "r"(at));
     }>, "it comes to the PTX instruction \"frobnicate.sync.b32\", which is not known on the CPU"},
    {"a known instruction in an unknown form", SMALL {
       float x;
       asm volatile("ex2.rz.f32 %0, %1;" : "=f"(x) : "f"(tile[0]));
       out[at] = x;
     }>, "\"ex2.rz.f32\""},
    {"a text that cannot be read", SMALL {
       asm volatile("mov.u32 %0, [;" : "=r"(at));
       out[0] = tile[0];
     }>, "its inline PTX cannot be read"},
    {"an operand that is too wide", SMALL {
       double x = tile[0];
       asm volatile("mov.b32 %0, %1;" : "=r"(at) : "f"(x));
       out[at] = 0;
     }>, "has 8 bytes; it takes 4"},
    {"trap", SMALL {
       if (threadIdx.x == 7 && tile[0] == 0) asm volatile("trap;");
       out[at % 8] = 0;
     }>, "its inline PTX comes to \"trap\""},
    {"more barriers than a block can have threads, one after the other", SMALL {
       __shared__ std::uint64_t barrier;
       __shared__ __align__(16) float words[64];
       const auto place = static_cast<u32>(__cvta_generic_to_shared(&barrier));
       const auto to = static_cast<u32>(__cvta_generic_to_shared(words));
       for (int i = 0; i < 1100; ++i) {
         if (threadIdx.x == 0) {
           asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.proxy.async.shared::cta;\n"
                        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;\n"
                        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                        "[%1], [%2], 256, [%0];" ::"r"(place), "r"(to), "l"(out));
         }
         __syncthreads();
         asm volatile("{ .reg .pred p;\n"
                      " W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::"r"(place));
         out[64 + threadIdx.x] = words[threadIdx.x] + tile[at % 8];
         __syncthreads();
         if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(place));
       }
     }>, ""},
    {"a barrier that waits for nobody", SMALL {
       __shared__ std::uint64_t barrier;
       const auto place = static_cast<u32>(__cvta_generic_to_shared(&barrier));
       if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 65;" ::"r"(place));
       __syncthreads();
       asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(place));
       asm volatile("{ .reg .pred p;\n"
                    " W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }" ::"r"(place));
       out[at % 8] = tile[0];
     }>, "forever: 1 of 65 arrivals is missing in phase 0"},
};
// clang-format on

#else
int main(int count, char** arguments) {
  return trace::run_checks(trace::ptx_checks, count, arguments);
}
#endif
