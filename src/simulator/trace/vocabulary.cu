// Functions of CUDA that most kernels do not use, each in a small kernel with its results; and the
// accesses of 16-bit types.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda/std/cstddef>
#include <cuda/std/type_traits>

#include "simulator/trace/idiom_run.h"

namespace {

namespace cg = cooperative_groups;

// A constant atomic cannot be changed, a constant reference can change what it is of.
template <class A>
concept CanChange = requires(A& a) {
  a.fetch_add(1), a.store(1), ++a;
};
static_assert(CanChange<cuda::atomic<int>> && !CanChange<const cuda::atomic<int>>);
static_assert(CanChange<const cuda::atomic_ref<int>>);

// Multiplies two matrices of small whole numbers by wmma, in shared memory. out[t] is 1 if all
// elements that lane t checks are right.
namespace wmma = nvcuda::wmma;

template <class V>
__device__ V small_number(int row, int column) {
  return V((row * 3 + column * 5) % 7 - (std::is_unsigned_v<V> ? 0 : 3));
}

template <bool rows, int pitch>
__device__ int place(int row, int column) {
  return rows ? row * pitch + column : column * pitch + row;
}

template <
    int m, int n, int k, class Factor, class Stored, class Sum, class LayoutA, class LayoutB,
    wmma::layout_t layout>
__device__ void multiply(float* out) {
  constexpr bool kRowsOfA = std::is_same_v<LayoutA, wmma::row_major>;
  constexpr bool kRowsOfB = std::is_same_v<LayoutB, wmma::row_major>;
  constexpr bool kRowsOfC = layout == wmma::mem_row_major;
  constexpr int kPitchA = (kRowsOfA ? k : m) + 16, kPitchB = (kRowsOfB ? n : k) + 16;
  constexpr int kPitchC = (kRowsOfC ? n : m) + 16;
  __shared__ __align__(32) Stored a[(kRowsOfA ? m : k) * kPitchA];
  __shared__ __align__(32) Stored b[(kRowsOfB ? k : n) * kPitchB];
  __shared__ __align__(32) Sum c[(kRowsOfC ? m : n) * kPitchC];
  for (int i = T; i < m * k; i += 32) {
    a[place<kRowsOfA, kPitchA>(i / k, i % k)] = small_number<Stored>(i / k, i % k);
  }
  for (int i = T; i < k * n; i += 32) {
    b[place<kRowsOfB, kPitchB>(i / n, i % n)] = small_number<Stored>(i / n + 1, i % n);
  }
  for (int i = T; i < m * n; i += 32) c[place<kRowsOfC, kPitchC>(i / n, i % n)] = i / n - i % n;
  __syncwarp();
  wmma::fragment<wmma::matrix_a, m, n, k, Factor, LayoutA> of_a;
  wmma::fragment<wmma::matrix_b, m, n, k, Factor, LayoutB> of_b;
  wmma::fragment<wmma::accumulator, m, n, k, Sum> before, sums;
  wmma::load_matrix_sync(of_a, a, kPitchA);
  wmma::load_matrix_sync(of_b, b, kPitchB);
  wmma::load_matrix_sync(before, c, kPitchC, layout);
  wmma::fill_fragment(sums, 0.0f);
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] = sums.x[i] + before.x[i] + before.x[i];
  wmma::mma_sync(sums, of_a, of_b, sums);
  __syncwarp();
  wmma::store_matrix_sync(c, sums, kPitchC, layout);
  __syncwarp();
  bool right = true;
  for (int i = T; i < m * n; i += 32) {
    float sum = 2 * (i / n - i % n);
    for (int j = 0; j < k; ++j) {
      sum += float(small_number<Stored>(i / n, j)) * float(small_number<Stored>(j + 1, i % n));
    }
    right &= float(c[place<kRowsOfC, kPitchC>(i / n, i % n)]) == sum;
  }
  out[T] = right;
}

template <int m, int n, int k, class Factor, class Stored, class Sum>
__device__ void multiply_all_layouts(float* out) {
  using Row = wmma::row_major;
  using Column = wmma::col_major;
  multiply<m, n, k, Factor, Stored, Sum, Row, Row, wmma::mem_row_major>(out);
  float right = out[T];
  multiply<m, n, k, Factor, Stored, Sum, Row, Column, wmma::mem_col_major>(out);
  right *= out[T];
  multiply<m, n, k, Factor, Stored, Sum, Column, Row, wmma::mem_col_major>(out);
  right *= out[T];
  multiply<m, n, k, Factor, Stored, Sum, Column, Column, wmma::mem_row_major>(out);
  out[T] *= right;
}

}  // namespace

// clang-format off
#define WMMA(...) BODY { multiply_all_layouts<__VA_ARGS__>(out); }>, [](int) { return 1; }

extern const std::vector<trace::Idiom> trace::narrow_idioms = {
    {"half: q[t] = p[t]", BODY { as<half>(out)[T] = as<half>(in)[T]; }>, 1, 2, 1, 2},
    {"half: q[t] += p[t] * p[t + 1]",
     BODY { as<half>(out)[T] += as<half>(in)[T] * as<half>(in)[T + 1]; }>, 3, 6, 1, 2},
    {"half: a local variable, converted both ways", BODY {
       const half x = as<half>(in)[T];
       as<half>(out)[T] = __float2half(__half2float(x) + 1.0f);
     }>, 1, 2, 1, 2},
    {"half: a condition and a float", BODY {
       const half x = as<half>(in)[T];
       out[T] = x < as<half>(in)[T + 1] ? float(x) : 0.0f;
     }>, 2, 4, 1, 4},
    {"half2: q[t] = p[t]", BODY { as<half2>(out)[T] = as<half2>(in)[T]; }>, 1, 4, 1, 4},
    {"half2: __hfma2 of three", BODY {
       const half2* const p = as<half2>(in);
       as<half2>(out)[T] = __hfma2(p[T], p[T + 32], p[T + 64]);
     }>, 3, 12, 1, 4},
    {"half2: one member", BODY { as<half>(out)[T] = as<half2>(in)[T].y; }>, 1, 2, 1, 2},
    {"half2: __half22float2", BODY { as<float2>(out)[T] = __half22float2(as<half2>(in)[T]); }>,
     1, 4, 1, 8},
    {"half2: __ldg and __stcs", BODY { __stcs(&as<half2>(out)[T], __ldg(&as<half2>(in)[T])); }>,
     1, 4, 1, 4},
    {"half: eight at once as a float4", BODY {
       const float4 eight = as<float4>(in)[T];
       const half* const each = reinterpret_cast<const half*>(&eight);
       as<half>(out)[T] = each[0] + each[7];
     }>, 1, 16, 1, 2},
    {"half: shared memory in two dimensions", BODY {
       __shared__ half s[32][34];
       s[T][1] = as<half>(in)[T];
       __syncthreads();
       as<half>(out)[T] = s[31 - T][1];
     }>, 1, 2, 1, 2, 1, 2, 1, 2},
    {"half2: a sum of atomics", BODY { atomicAdd(as<half2>(out), as<half2>(in)[T]); }>, 2, 8, 1, 4},
    {"bfloat16: q[t] = p[t] * p[t + 1]", BODY {
       const __nv_bfloat16* const p = as<__nv_bfloat16>(in);
       as<__nv_bfloat16>(out)[T] = p[T] * p[T + 1];
     }>, 2, 4, 1, 2},
    {"bfloat162: q[t] = p[t]", BODY { as<__nv_bfloat162>(out)[T] = as<__nv_bfloat162>(in)[T]; }>,
     1, 4, 1, 4},
    {"uchar4: q[t] = p[t]", BODY { as<uchar4>(out)[T] = as<uchar4>(in)[T]; }>, 1, 4, 1, 4},
    {"short2: q[t] = p[t]", BODY { as<short2>(out)[T] = as<short2>(in)[T]; }>, 1, 4, 1, 4},
    {"char2: q[t] = p[t]", BODY { as<char2>(out)[T] = as<char2>(in)[T]; }>, 1, 2, 1, 2},
    {"double4: q[t] = p[t] in two parts", BODY { as<double4>(out)[T] = as<double4>(in)[T]; }>,
     2, 32, 2, 32},
    {"longlong2: q[t] = p[t]", BODY { as<longlong2>(out)[T] = as<longlong2>(in)[T]; }>,
     1, 16, 1, 16},
    {"loads and stores with a cache hint", BODY {
       __stcg(out + T, __ldca(in + T));
       __stwt(out + T, __ldcv(in + T));
       __stwb(out + T, __ldlu(in + T));
     }>, 3, 12, 3, 12},
};

extern const std::vector<trace::Exchange> trace::vocabulary = {
    {"__match_any_sync", BODY { out[T] = __popc(__match_any_sync(kAll, T % 5)); }>,
     [](int t) { return t % 5 < 2 ? 7 : 6; }},
    {"__match_any_sync of a part of the warp", BODY {
       if (T >= 8 && T < 16) out[T] = __match_any_sync(0xff00u, static_cast<long long>(T / 4));
     }>, [](int t) { return t < 8 || t >= 16 ? 0 : t < 12 ? 0x0f00 : 0xf000; }},
    {"__match_all_sync", BODY {
       int all = 7, none = 7;
       const unsigned lanes = __match_all_sync(kAll, 3.0f, &all);
       const unsigned nobody = __match_all_sync(kAll, T == 9, &none);
       out[T] = (lanes == kAll) + 2 * all + 4 * (nobody == 0) + 8 * none;
     }>, [](int) { return 7; }},
    {"__reduce_add_sync, min, max, and, or, xor", BODY {
       const int sum = __reduce_add_sync(kAll, static_cast<int>(T) - 16);
       const int least = __reduce_min_sync(kAll, static_cast<int>(T) - 3);
       const unsigned most = __reduce_max_sync(kAll, T);
       const unsigned both = __reduce_and_sync(kAll, T | 64u), any = __reduce_or_sync(kAll, T);
       const unsigned odd = __reduce_xor_sync(kAll, T == 5 ? 0x300u : 1u);
       out[T] = (sum == -16) + 2 * (least == -3) + 4 * (most == 31) + 8 * (both == 64) +
                16 * (any == 31) + 32 * (odd == 0x301u);
     }>, [](int) { return 63; }},
    {"shuffles of small and of large types", BODY {
       const short small = __shfl_xor_sync(kAll, static_cast<short>(T), 1);
       const long long large = __shfl_down_sync(kAll, 1ll << 40 | T, 1);
       const bool flag = __shfl_sync(kAll, T == 3, 3);
       out[T] = small + 100 * static_cast<int>(large & 0xff) + 10000 * (large >> 40) + 20000 * flag;
     }>, [](int t) { return (t ^ 1) + 100 * std::min(t + 1, 31) + 30000; }},
    {"shuffles of half, half2 and bfloat16", BODY {
       const half a = __shfl_xor_sync(kAll, half(T), 3);
       const half2 b = __shfl_down_sync(kAll, __floats2half2_rn(T, 2.0f * T), 1);
       const __nv_bfloat16 c = __shfl_sync(kAll, __nv_bfloat16(T), 5);
       out[T] = float(a) + 100 * __high2float(b) + 10000 * float(c);
     }>, [](int t) { return (t ^ 3) + 200 * std::min(t + 1, 31) + 50000; }},
    {"atomicAdd of half, half2 and bfloat16", BODY {
       __shared__ half a;
       __shared__ half2 b;
       __shared__ __nv_bfloat16 c;
       if (T == 0) {
         a = 0;
         b = __float2half2_rn(0);
         c = 1;
       }
       __syncthreads();
       atomicAdd(&a, half(2));
       atomicAdd(&b, __floats2half2_rn(1, T));
       atomicAdd(&c, __nv_bfloat16(1));
       __syncthreads();
       out[T] = float(a) + 100 * __low2float(b) + 1000 * (__high2float(b) == 496) +
                2000 * (c == __nv_bfloat16(33));
     }>, [](int) { return 64 + 3200 + 3000; }},
    {"a sum of halves loses what is smaller than half a place", BODY {
       half sum = 0;
       for (int i = 0; i < 3000; ++i) sum += half(1);
       out[T] = sum;
     }>, [](int) { return 2048; }},
    {"atomics of all names, for a block and the system", BODY {
       __shared__ unsigned a, b, c, d, e;
       __shared__ long long f;
       if (T == 0) {
         a = 100;
         b = 0xff;
         c = 0;
         d = 0;
         e = 5;
         f = -7;
       }
       __syncthreads();
       atomicSub_block(&a, 1u);
       atomicAnd(&b, ~(1u << T % 8));
       atomicXor_system(&c, 1u << T);
       atomicInc(&d, 9u);
       atomicDec(&e, 6u);
       atomicMin_block(&f, static_cast<long long>(T) - 20);
       __syncthreads();
       out[T] = a + 1000 * (b == 0) + 2000 * (c == kAll) + 4000 * (d == 32 % 10) +
                8000 * (e == 1) + 16000 * (f == -20);
     }>, [](int) { return 68 + 31000; }},
    {"bits: brev, byte_perm, funnel shifts", BODY {
       out[T] = (__brev(1u << T) == 1u << (31 - T)) + 2 * (__brevll(1) == 1ull << 63) +
                4 * (__byte_perm(0x33221100u, 0x77665544u, 0x7150u) == 0x77115500u) +
                8 * (__funnelshift_l(0x80000000u, 1u, 1) == 3) +
                16 * (__funnelshift_r(0u, 1u, T) == (T == 0 ? 0u : 1u << (32 - T))) +
                32 * (__funnelshift_lc(5u, 7u, 40) == 5) + 64 * (__ffsll(1ll << 40) == 41) +
                128 * (__clzll(1) == 63);
     }>, [](int) { return 255; }},
    {"integers: high products, 24 bits, averages, differences", BODY {
       out[T] = (__mulhi(-2, 1 << 30) == -1) + 2 * (__umul64hi(1ull << 63, 4) == 2) +
                4 * (__mul24(0x1000003, -2) == -6) + 8 * (__umul24(0xff000002u, 3) == 6) +
                16 * (__rhadd(-3, 2) == 0) + 32 * (__hadd(-3, 2) == -1) +
                64 * (__sad(-5, 7, 1) == 13) + 128 * (__mul64hi(-1, 1) == -1);
     }>, [](int) { return 255; }},
    {"products of bytes", BODY {
       const int a = __dp4a(0x01ff0203, 0x01010102, 10);
       const unsigned b = __dp4a(0x01ff0203u, 0x01010102u, 10u);
       const int c = __dp2a_lo(0x0003ffff, 0x7f7f0204, 1), d = __dp2a_hi(0x0003ffff, 0x02047f7f, 1);
       const int e = __dp4a(make_char4(1, -1, 2, 0), make_char4(3, 4, 5, 6), 0);
       out[T] = (a == 18) + 2 * (b == 274) + 4 * (c == 3) + 8 * (d == 3) + 16 * (e == 9);
     }>, [](int) { return 31; }},
    {"sums, differences, the smaller and the larger of the parts of a word", BODY {
       const unsigned a = 0xfffe0003, b = 0x0001ffff;
       out[T] = (__vmins2(a, b) == 0xfffeffff) + 2 * (__vminu2(a, b) == 0x00010003) +
                4 * (__vmaxs2(a, b) == 0x00010003) + 8 * (__vmaxu2(a, b) == 0xfffeffff) +
                16 * (__vadd4(a, b) == 0xffffff02) + 32 * (__vabsdiffu4(a, b) == 0xfffdfffc);
     }>, [](int) { return 63; }},
    {"arithmetic that is rounded up, down, to nearest and toward zero", BODY {
       const float third = __fdiv_rd(1, 3), above = __fdiv_ru(1, 3);
       const float big = 16777216;
       out[T] = (__float_as_int(above) == __float_as_int(third) + 1) +
                2 * (__fadd_rz(big, 3) == big + 2) + 4 * (__fadd_ru(big, 1) == big + 2) +
                8 * (__fadd_rn(big, 1) == big) + 16 * (__fsqrt_rd(4) == 2) +
                32 * (__fmaf_rd(-1, 1, -1e-9f) < -1) + 64 * (__dadd_ru(1, 1e-30) > 1) +
                128 * (__int2float_rz(16777219) == 16777218) +
                256 * (__double2float_ru(1 + 1e-12) > 1);
     }>, [](int) { return 511; }},
    {"conversions to integers clamp", BODY {
       out[T] = (__float2int_rn(2.5f) == 2) + 2 * (__float2int_rz(-2.9f) == -2) +
                4 * (__float2int_ru(1e20f) == INT_MAX) + 8 * (__float2uint_rz(-3.0f) == 0) +
                16 * (__float2int_rd(-2.1f) == -3) + 32 * (__float2int_rn(nanf("")) == 0) +
                64 * (__float2ll_rz(-1e30f) == LLONG_MIN) + 128 * (__double2uint_ru(2.1) == 3);
     }>, [](int) { return 255; }},
    {"doubles in two parts", BODY {
       const double x = __hiloint2double(0x3ff80000, static_cast<int>(T));
       out[T] = (__double2hiint(x) == 0x3ff80000) + 2 * (__double2loint(x) == static_cast<int>(T)) +
                4 * (__double_as_longlong(1.5) == 0x3ff8000000000000) +
                8 * (__longlong_as_double(0x3ff8000000000000) == 1.5);
     }>, [](int) { return 15; }},
    {"functions of special names", BODY {
       float sine, cosine;
       sincospif(0.5f, &sine, &cosine);
       out[T] = (sine == 1 && cosine == 0) + 2 * (sinpif(3) == 0) + 4 * (normcdff(0) == 0.5f) +
                8 * (norm3df(2, 3, 6) == 7) + 16 * (rcbrtf(8) == 0.5f) +
                32 * (rhypotf(3, 4) == 0.2f) +
                64 * (__saturatef(nanf("")) == 0 && __saturatef(3) == 1) +
                128 * (rsqrt(4.0) == 0.5);
     }>, [](int) { return 255; }},
    {"the kind of memory that a pointer names", BODY {
       __shared__ int s[1];
       int local = 0;
       out[T] = __isShared(s) + 2 * __isGlobal(out) + 4 * __isLocal(&local) + 8 * __isGlobal(s) +
                16 * __isShared(out) + 32 * __isLocal(s);
     }>, [](int) { return 7; }},
    {"a thread that waits for the clock gets on", BODY {
       const long long start = clock64();
       while (clock64() - start < 1000) {
       }
       out[T] = 1;
     }>, [](int) { return 1; }},
    {"wmma 16 x 16 x 16 of half, sums in float", WMMA(16, 16, 16, half, half, float)},
    {"wmma 16 x 16 x 16 of half, sums in half", WMMA(16, 16, 16, half, half, half)},
    {"wmma 32 x 8 x 16 of half", WMMA(32, 8, 16, half, half, float)},
    {"wmma 8 x 32 x 16 of half", WMMA(8, 32, 16, half, half, half)},
    {"wmma 16 x 16 x 16 of bfloat16", WMMA(16, 16, 16, __nv_bfloat16, __nv_bfloat16, float)},
    {"wmma 8 x 32 x 16 of bfloat16", WMMA(8, 32, 16, __nv_bfloat16, __nv_bfloat16, float)},
    {"wmma 16 x 16 x 8 of tf32", WMMA(16, 16, 8, wmma::precision::tf32, float, float)},
    {"wmma 16 x 16 x 16 of signed char", WMMA(16, 16, 16, signed char, signed char, int)},
    {"wmma 32 x 8 x 16 of unsigned char", WMMA(32, 8, 16, unsigned char, unsigned char, int)},
    {"wmma 8 x 8 x 4 of double", WMMA(8, 8, 4, double, double, double)},
    {"cooperative groups: a reduction and scans over tiles", BODY {
       const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
       const int sum = cg::reduce(tile, static_cast<int>(T), cg::plus<int>());
       const float most = cg::reduce(tile, static_cast<float>(T), cg::greater<float>());
       const int before = cg::exclusive_scan(tile, 1), with = cg::inclusive_scan(tile, 2);
       out[T] = sum + 1000 * (most == T / 8 * 8 + 7) + 2000 * (before == static_cast<int>(T % 8)) +
                4000 * (with == 2 * (static_cast<int>(T) % 8 + 1));
     }>, [](int t) { return 64 * (t / 8) + 28 + 7000; }},
    {"umin and its relatives", BODY {
       out[T] = umin(T, 7u) + 10 * umax(T, 7u) + 1000 * static_cast<int>(llmin(-1, T) + 2) +
                10000 * static_cast<int>(ullmax(3, 4));
     }>, [](int t) { return (t < 7 ? t + 70 : 7 + 10 * t) + 41000; }},
    {"cooperative groups: tiles of two warps", BODY {
       __shared__ cg::block_tile_memory<128> memory;
       const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
       const int sum = cg::reduce(tile, static_cast<int>(T), cg::plus<int>());
       const double most = cg::reduce(tile, static_cast<double>(T), cg::greater<double>());
       const bool fits = tile.meta_group_size() == 2 && tile.meta_group_rank() == T / 64 &&
                         tile.thread_rank() == T % 64 && tile.size() == 64;
       out[T] = sum + 10000 * (most == T / 64 * 64 + 63) + 20000 * fits;
     }, 128>, [](int t) { return 4096 * (t / 64) + 2016 + 30000; }},
    {"cooperative groups: lanes that are together", BODY {
       if (T % 3 == 0) {
         const auto group = cg::coalesced_threads();
         out[T] = cg::reduce(group, T, cg::plus<unsigned>()) + 1000 * group.thread_rank();
       }
     }>, [](int t) { return t % 3 == 0 ? 165 + 1000 * (t / 3) : 0; }},
    {"cooperative groups: lanes with the same label", BODY {
       const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
       const auto group = cg::labeled_partition(warp, T % 4);
       const auto lower = cg::binary_partition(warp, T < 16);
       out[T] = group.size() + 10 * group.thread_rank() + 100 * group.meta_group_rank() +
                1000 * lower.size();
     }>, [](int t) { return 8 + 10 * (t / 4) + 100 * (t % 4) + 16000; }},
    {"cooperative groups: tiles of lanes that are together", BODY {
       if (T % 2 == 1) {
         const auto group = cg::coalesced_threads();
         const cg::coalesced_group tile = cg::tiled_partition(group, 4);
         const cg::thread_group same = cg::tiled_partition(cg::thread_group(group), 4);
         out[T] = tile.size() + 10 * tile.thread_rank() + 100 * tile.meta_group_rank() +
                  1000 * tile.shfl(T, 0) + 100000 * (same.thread_rank() == tile.thread_rank());
       }
     }>, [](int t) {
       return t % 2 == 0 ? 0 : 101004 + t / 2 % 4 * 10 + t % 32 / 8 * 100 + t / 8 * 8000;
     }},
    {"cooperative groups: one thread of a group", BODY {
       const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
       int runs = 0;
       cg::invoke_one(warp, [&](int more) { runs += more; }, 10);
       out[T] = cg::reduce(warp, runs, cg::plus<int>()) +
                cg::invoke_one_broadcast(warp, [](unsigned thread) { return thread / 32; }, T);
     }>, [](int t) { return 10 + t / 32; }},
    {"cooperative groups: a group of any kind", BODY {
       const auto block = cg::this_thread_block();
       const cg::thread_group groups[] = {block, cg::tiled_partition(block, 4)};
       unsigned sum = 0;
       for (const cg::thread_group& group : groups) {
         group.sync();
         sum = 100 * sum + group.thread_rank() + 10 * group.size();
       }
       out[T] = sum;
     }>, [](int t) { return 100 * (t + 320) + t % 4 + 40; }},
    {"cooperative groups: a tile of a tile", BODY {
       const auto warp = cg::tiled_partition<16>(cg::this_thread_block());
       const auto tile = cg::tiled_partition<4>(warp);
       out[T] = tile.meta_group_rank() + 10 * tile.meta_group_size() +
                100 * __popc(tile.match_any(T % 2)) + 1000 * tile.ballot(T % 4 == 1);
     }>, [](int t) { return t % 16 / 4 + 40 + 200 + 2000; }},
    {"cooperative groups: a class moves between lanes", BODY {
       const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
       struct Pair {
         double first;
         int second;
       };
       const Pair next = tile.shfl_down(Pair{T + 0.5, static_cast<int>(2 * T)}, 1);
       out[T] = next.first + 0.5 + 100 * next.second;
     }>, [](int t) { return std::min(t + 1, 31) * 201 + 1; }},
    {"copies in pieces of 16, 8, 4 and 1 bytes", BODY {
       __shared__ __align__(16) char s[4][64];
       const auto block = cg::this_thread_block();
       const char* const from = as<char>(in);
       cg::memcpy_async(block, s[0], from, cuda::aligned_size_t<16>(64));
       cg::memcpy_async(block, s[1], from, cuda::aligned_size_t<8>(40));
       cg::memcpy_async(block, s[2] + 1, from + 5, 50);
       cg::memcpy_async(block, s[3], from + 1, 13);
       cg::wait(block);
       bool right = true;
       for (int i = 0; i < 64; ++i) {
         right &= s[0][i] == from[i];
         if (i < 40) right &= s[1][i] == from[i];
         if (i < 50) right &= s[2][i + 1] == from[i + 5];
         if (i < 13) right &= s[3][i] == from[i + 1];
       }
       out[T] = right;
     }>, [](int) { return 1; }},
    {"cuda::atomic and cuda::atomic_ref", BODY {
       __shared__ cuda::atomic<int, cuda::thread_scope_block> sum;
       __shared__ unsigned most;
       if (T == 0) {
         sum.store(5);
         most = 0;
       }
       __syncthreads();
       sum.fetch_add(static_cast<int>(T), cuda::memory_order_relaxed);
       cuda::atomic_ref<unsigned, cuda::thread_scope_block> greatest(most);
       greatest.fetch_max(T);
       __syncthreads();
       int expected = 7;
       const bool exchanged = sum.compare_exchange_strong(expected, 1);
       out[T] = sum.load() + 1000 * (greatest.load() == 31) + 2000 * exchanged +
                4000 * (expected == 501);
     }>, [](int) { return 501 + 5000; }},
    {"the standard library under the name of libcu++", BODY {
       const cuda::std::array<int, 2> two{static_cast<int>(T), 1};
       out[T] = two[0] + cuda::std::is_same_v<cuda::std::size_t, size_t>;
     }>, [](int t) { return t + 1; }},
};

extern const std::vector<trace::Requests> trace::matrix_requests = {
    {"a factor of half from global memory, along its rows", BODY {
       wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
       wmma::load_matrix_sync(a, as<half>(in), 16);
     }>, 4, 32, 0, 0, 0, 0, 0},
    {"a factor of half from global memory, across", BODY {
       wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
       wmma::load_matrix_sync(b, as<half>(in), 16);
     }>, 4, 32, 0, 0, 0, 0, 0},
    {"a factor of half from shared memory, by ldmatrix, with conflicts", BODY {
       __shared__ half s[16 * 16];
       wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
       wmma::load_matrix_sync(a, s, 16);
     }>, 0, 0, 0, 0, 1, 8, 0},
    {"a factor of half from shared memory, by ldmatrix, without conflicts", BODY {
       __shared__ half s[32 * 24];
       wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::col_major> a;
       wmma::load_matrix_sync(a, s, 40);
     }>, 0, 0, 0, 0, 2, 8, 0},
    {"a factor of bfloat16 from shared memory, without ldmatrix", BODY {
       __shared__ __nv_bfloat16 s[16 * 24];
       wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
       wmma::load_matrix_sync(a, s, 24);
     }>, 0, 0, 0, 0, 4, 4, 0},
    {"a factor of tf32", BODY {
       wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
       wmma::load_matrix_sync(a, in, 16);
     }>, 4, 32, 0, 0, 0, 0, 0},
    {"a factor of bytes, along its rows and across", BODY {
       wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
       wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> b;
       wmma::load_matrix_sync(a, as<signed char>(in), 32);
       wmma::load_matrix_sync(b, as<signed char>(in), 32);
     }>, 2 + 8, 2 * 8 + 8 * 4, 0, 0, 0, 0, 0},
    {"a product stored along its rows", BODY {
       wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
       wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
       wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
       wmma::fill_fragment(a, 1.0f);
       wmma::fill_fragment(b, 1.0f);
       wmma::fill_fragment(c, 0.0f);
       wmma::mma_sync(c, a, b, c);
       wmma::store_matrix_sync(out, c, 16, wmma::mem_row_major);
     }>, 0, 0, 4, 32, 0, 0, 2},
    {"sums in float, across: loaded and stored", BODY {
       wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
       wmma::load_matrix_sync(c, in, 16, wmma::mem_col_major);
       wmma::store_matrix_sync(out, c, 16, wmma::mem_col_major);
     }>, 8, 32, 8, 32, 0, 0, 0},
    {"sums in half, across", BODY {
       wmma::fragment<wmma::accumulator, 16, 16, 16, half> c;
       wmma::load_matrix_sync(c, as<half>(in), 16, wmma::mem_col_major);
       wmma::store_matrix_sync(as<half>(out), c, 16, wmma::mem_col_major);
     }>, 4, 32, 4, 32, 0, 0, 0},
    {"sums of 8 x 32 lie along columns", BODY {
       wmma::fragment<wmma::accumulator, 8, 32, 16, float> c;
       wmma::load_matrix_sync(c, in, 32, wmma::mem_row_major);
       wmma::store_matrix_sync(out, c, 8, wmma::mem_col_major);
     }>, 8, 32, 4, 32, 0, 0, 0},
};
