#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include <cstring>
#include <utility>

#include "simulator/cuda/instructions.h"
#include "simulator/trace/idiom_run.h"

// The functions that the compiler calls; some idioms call them directly.
extern "C" void __tsan_read4(void*);
extern "C" void __tsan_write4(void*);

namespace {

namespace wmma = nvcuda::wmma;

struct Twelve {
  float x, y, z;
};
struct Four {
  float of[4];
};
struct Large {
  float4 part[4];
};

// Plain classes, which g++ copies without announcing it.
template <class Part>
struct Complex {
  Part re, im;
};
struct One {
  float x;
};
struct Doubles {
  double a, b, c;
  __device__ Doubles operator+(Doubles other) const {
    return {a + other.a, b + other.b, c + other.c};
  }
};
struct Many {
  float of[40];
};
struct Fields {
  unsigned low : 3, middle : 7, high : 22;
};

__device__ float sum_of(Twelve v) {
  return v.x + v.y + v.z;
}
__device__ float value_of(One v) {
  return v.x;
}
template <class Part>
__device__ Part sum_of(Complex<Part> v) {
  return v.re + v.im;
}
__device__ double sum_of(Doubles v) {
  return v.a + v.b + v.c;
}
__device__ float sum_of(Many v) {
  return v.of[0] + v.of[39];
}
__device__ Twelve twelve(float x) {
  return {x, 2 * x, 3 * x};
}
__device__ Doubles doubles(double x) {
  return {x, 2 * x, 3 * x};
}
__device__ Many many(float x) {
  Many v;
  for (float& one : v.of) one = x;
  return v;
}
__device__ Doubles loaded(const Doubles* p) {
  return *p;
}
__device__ float sum_from(const float* p, int n) {
  return n == 0 ? 0 : *p + sum_from(p + 1, n - 1);
}

__device__ float4 twice(float4 v) {
  return make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}
__device__ float first_of(const float4& v) {
  return v.x;
}

__device__ char text[] = "ab";
__constant__ float kConstants[4] = {1, 2, 3, 4};

__device__ float load_or_zero(const float* p, int i, int n) {
  return i < n ? p[i] : 0.0f;
}

__device__ float too_deep(int calls) {
  volatile float kept[256] = {};
  kept[calls % 256] = 1;
  return calls == 0 ? 0 : too_deep(calls - 1) + kept[0];
}

__device__ float middle_of(const float* p) {
  float kept[64];
  for (int i = 0; i < 64; ++i) kept[i] = p[i];
  return kept[32];
}

__device__ float deep_sum(const float* p, int calls) {
  float kept[16];
  for (int i = 0; i < 16; ++i) kept[i] = p[i + calls];
  return kept[calls] + (calls == 0 ? 0 : deep_sum(p, calls - 1));
}

__device__ const float* address_of_local(float value) {
  float kept[2] = {value, value};
  const float* volatile there = kept;
  return there;
}

__device__ int after_a_barrier(int* s, int t) {
  s[t] = t;
  __syncthreads();
  return s[31 - t];
}

}  // namespace

// clang-format off

extern const std::vector<trace::Idiom> trace::idioms = {
    {"out[t] = in[t]", BODY { out[T] = in[T]; }>, 1, 4, 1, 4},
    {"out[t] += in[t]", BODY { out[T] += in[T]; }>, 2, 8, 1, 4},
    {"++out[t]", BODY { ++out[T]; }>, 1, 4, 1, 4},
    {"out[t] = t < 4 ? in[t] : in[0]", BODY { out[T] = T < 4 ? in[T] : in[0]; }>, 1, 4, 1, 4},
    {"std::swap(out[t], out[t + 32])", BODY { std::swap(out[T], out[T + 32]); }>, 2, 8, 2, 8},
    {"a call that loads", BODY { out[T] = load_or_zero(in, T, 32); }>, 1, 4, 1, 4},
    {"a double", BODY { out[T] = static_cast<float>(as<double>(in)[T]); }>, 1, 8, 1, 4},
    {"float4: *q = *p", BODY { *(as<float4>(out) + T) = *(as<float4>(in) + T); }>, 1, 16, 1, 16},
    {"float4: v = p[t]; q[t] = v", BODY {
       float4 v = as<float4>(in)[T];
       as<float4>(out)[T] = v;
     }>, 1, 16, 1, 16},
    {"float4: v declared, then assigned", BODY {
       float4 v;
       v = as<float4>(in)[T];
       as<float4>(out)[T] = v;
     }>, 1, 16, 1, 16},
    {"float4: q[t] = f(p[t])", BODY { as<float4>(out)[T] = twice(as<float4>(in)[T]); }>,
     1, 16, 1, 16},
    {"float4: q[t] = make_float4(...)", BODY { as<float4>(out)[T] = make_float4(1, 2, 3, 4); }>,
     0, 0, 1, 16},
    {"float4: q[t] = {...}", BODY { as<float4>(out)[T] = {1, 2, 3, 4}; }>, 0, 0, 1, 16},
    {"float4: p[t].y", BODY { out[T] = as<float4>(in)[T].y; }>, 1, 4, 1, 4},
    {"float4: q[t].y = 1", BODY { as<float4>(out)[T].y = 1; }>, 0, 0, 1, 4},
    {"float4: through a reference", BODY {
       const float4& from = as<float4>(in)[T];
       float4& to = as<float4>(out)[T];
       to = from;
     }>, 1, 16, 1, 16},
    {"float4: a reference handed to a function", BODY { out[T] = first_of(as<float4>(in)[T]); }>,
     1, 4, 1, 4},
    {"float4: one float reinterpreted", BODY {
       reinterpret_cast<float4&>(out[4 * T]) = reinterpret_cast<const float4&>(in[4 * T]);
     }>, 1, 16, 1, 16},
    {"float4: one float cast the old way",
     BODY { (float4&)out[4 * T] = (const float4&)in[4 * T]; }>, 1, 16, 1, 16},
    {"float2: q[t] = p[t]", BODY { as<float2>(out)[T] = as<float2>(in)[T]; }>, 1, 8, 1, 8},
    {"int4: q[t] = p[t]", BODY { as<int4>(out)[T] = as<int4>(in)[T]; }>, 1, 16, 1, 16},
    {"a struct of three floats", BODY { as<Twelve>(out)[T] = as<Twelve>(in)[T]; }>, 3, 12, 3, 12},
    {"a struct of four floats, aligned like one float",
     BODY { as<Four>(out)[T] = as<Four>(in)[T]; }>, 4, 16, 4, 16},
    {"a struct of four float4", BODY { as<Large>(out)[T] = as<Large>(in)[T]; }>, 4, 64, 4, 64},
    {"memcpy of 16 bytes", BODY { std::memcpy(out + 4 * T, in + 4 * T, 16); }>, 4, 16, 4, 16},
    {"memmove of 64 bytes", BODY { std::memmove(out + 16 * (T % 4), in + 16 * (T % 4), 64); }>,
     16, 64, 16, 64},
    {"memset of 32 bytes", BODY { std::memset(out + 8 * T, 0, 32); }>, 0, 0, 8, 32},
    {"an array in registers", BODY {
       float r[4];
       for (int i = 0; i < 4; ++i) r[i] = in[4 * T + i];
       for (int i = 3; i >= 0; --i) out[4 * T + i] = 2 * r[i];
     }>, 4, 16, 4, 16},
    {"a float4 of an array in registers", BODY {
       alignas(16) float r[4];
       reinterpret_cast<float4&>(r[0]) = as<float4>(in)[T];
       out[T] = r[0] + r[3];
     }>, 1, 16, 1, 4},
    {"shared: s[t] = in[t]", BODY {
       __shared__ float s[32];
       s[T] = in[T];
       __syncthreads();
       out[T] = s[31 - T];
     }>, 1, 4, 1, 4, 1, 4, 1, 4},
    {"shared: two dimensions", BODY {
       __shared__ float s[8][4];
       s[T / 4][T % 4] = 1;
       __syncthreads();
       out[T] = s[T % 8][T / 8] * s[0][0];
     }>, 0, 0, 1, 4, 2, 8, 1, 4},
    {"shared: float4", BODY {
       __shared__ float4 s[32];
       s[T] = as<float4>(in)[T];
       __syncthreads();
       as<float4>(out)[T] = s[31 - T];
     }>, 1, 16, 1, 16, 1, 16, 1, 16},
    {"shared: dynamic", BODY {
       extern __shared__ float dynamic[];
       dynamic[T] = in[T];
       __syncthreads();
       out[T] = dynamic[31 - T];
     }>, 1, 4, 1, 4, 1, 4, 1, 4},
    {"shared: cleared by memset", BODY {
       __shared__ float4 s[32];
       std::memset(static_cast<void*>(&s[T]), 0, sizeof(float4));
     }>, 0, 0, 0, 0, 0, 0, 4, 16},
    {"__ldg of a float", BODY { out[T] = __ldg(in + T); }>, 1, 4, 1, 4},
    {"__ldg of a float4, stored at once", BODY { as<float4>(out)[T] = __ldg(as<float4>(in) + T); }>,
     1, 16, 1, 16},
    {"__stcs of a float4", BODY { __stcs(as<float4>(out) + T, as<float4>(in)[T]); }>, 1, 16, 1, 16},
    {"min, max and fmaf load each operand once",
     BODY { out[T] = fmaf(min(in[T], in[T + 1]), max(in[T], 0), in[T + 2]); }>, 4, 16, 1, 4},
    {"float3: q[t] = p[t]", BODY { as<float3>(out)[T] = as<float3>(in)[T]; }>, 3, 12, 3, 12},
    {"float3: q[t] = make_float3(...)",
     BODY { as<float3>(out)[T] = make_float3(1, 2, 3); }>, 0, 0, 3, 12},
    {"double2: q[t] = p[t]", BODY { as<double2>(out)[T] = as<double2>(in)[T]; }>, 1, 16, 1, 16},
    {"uint4: q[t] = p[t]", BODY { as<uint4>(out)[T] = as<uint4>(in)[T]; }>, 1, 16, 1, 16},
    {"a float4 in a union with its floats", BODY {
       union {
         float4 all;
         float each[4];
       } v;
       v.all = as<float4>(in)[T];
       out[T] = v.each[0] + v.each[3];
     }>, 1, 16, 1, 4},
    {"__constant__ memory is not counted", BODY { out[T] = kConstants[T % 4]; }>, 0, 0, 1, 4},
    {"a shuffle moves no memory",
     BODY { out[T] = __shfl_down_sync(kAll, in[T], 16); }>, 1, 4, 1, 4},
    {"atomicAdd is a load and a store", BODY { atomicAdd(&out[T], in[T]); }>, 2, 8, 1, 4},
    {"shared: atomicAdd", BODY {
       __shared__ int sum;
       atomicAdd(&sum, 1);
     }>, 0, 0, 0, 0, 1, 4, 1, 4},
    {"#pragma unroll changes nothing", BODY {
       float sum = 0;
#pragma unroll 2
       for (int i = 0; i < 4; ++i) sum += in[4 * T + i];
       out[T] = sum;
     }>, 4, 16, 1, 4},
    {"a reference to threadIdx is not memory", BODY {
       const uint3& t = threadIdx;
       const unsigned& width = blockDim.x;
       out[t.x] = width;
     }>, 0, 0, 1, 4},
    {"threadIdx and blockIdx are not memory",
     BODY { out[blockIdx.x * blockDim.x + T] = gridDim.x; }>, 0, 0, 1, 4},
    // Accesses that g++ does not announce itself (announce/pass.h).
    {"a struct as an argument", BODY { out[T] = sum_of(as<Twelve>(in)[T]); }>, 3, 12, 1, 4},
    {"a struct of two floats as an argument", BODY { out[T] = sum_of(as<Complex<float>>(in)[T]); }>,
     2, 8, 1, 4},
    {"a struct of two doubles as an argument",
     BODY { out[T] = sum_of(as<Complex<double>>(in)[T]); }>, 2, 16, 1, 4},
    {"a struct of two doubles that a function returns",
     BODY { as<Complex<double>>(out)[T] = {sum_of(as<Complex<float>>(in)[T]), 0}; }>, 2, 8, 2, 16},
    {"a struct of three doubles as an argument", BODY { out[T] = sum_of(as<Doubles>(in)[T]); }>,
     3, 24, 1, 4},
    {"a struct of one float as an argument, with an index from a local array", BODY {
       unsigned index[2] = {T, 0};
       out[T] = value_of(as<One>(in)[index[T % 2]]) + value_of(as<One>(in)[index[1]]);
     }>, 2, 8, 1, 4},
    {"a large struct as an argument", BODY { out[T] = sum_of(as<Many>(in)[T / 8]); }>,
     10, 160, 1, 4},
    {"a struct that a function returns", BODY { as<Twelve>(out)[T] = twelve(in[T]); }>,
     1, 4, 3, 12},
    {"a struct of three doubles that a function returns",
     BODY { as<Doubles>(out)[T] = doubles(in[T]); }>, 1, 4, 3, 24},
    {"a large struct that a function returns", BODY { as<Many>(out)[T / 8] = many(in[T]); }>,
     1, 4, 10, 160},
    {"a struct that is loaded by the function that returns it",
     BODY { as<Doubles>(out)[T] = loaded(as<Doubles>(in) + T); }>, 3, 24, 3, 24},
    {"an operator on structs",
     BODY { as<Doubles>(out)[T] = as<Doubles>(in)[T] + as<Doubles>(in)[T + 1]; }>, 6, 48, 3, 24},
    {"a struct chosen by ?:", BODY {
       as<Doubles>(out)[T] = T < 4 ? as<Doubles>(in)[T] : as<Doubles>(in)[0];
     }>, 3, 24, 3, 24},
    {"a struct in braces", BODY { as<Doubles>(out)[T] = {1, 2, 3}; }>, 0, 0, 3, 24},
    {"a struct in braces from loaded values",
     BODY { out[T] = sum_of(Twelve{in[T], in[T + 1], in[T + 2]}); }>, 3, 12, 1, 4},
    {"a structured binding by value", BODY {
       const auto [x, y, z] = as<Twelve>(in)[T];
       out[T] = x + y + z;
     }>, 3, 12, 1, 4},
    {"a structured binding by reference", BODY {
       const auto& [x, y, z] = as<Twelve>(in)[T];
       out[T] = x + z;
     }>, 2, 8, 1, 4},
    {"a struct captured by copy", BODY {
       const Twelve& v = as<Twelve>(in)[T];
       const auto sum = [v] { return v.x + v.y + v.z; };
       out[T] = sum();
     }>, 3, 12, 1, 4},
    {"a struct captured by reference", BODY {
       const Twelve& v = as<Twelve>(in)[T];
       const auto sum = [&v] { return v.x + v.z; };
       out[T] = sum();
     }>, 2, 8, 1, 4},
    {"a lambda that takes and returns a struct", BODY {
       const auto doubled = [](Doubles v) { return Doubles{2 * v.a, 2 * v.b, 2 * v.c}; };
       as<Doubles>(out)[T] = doubled(as<Doubles>(in)[T]);
     }>, 3, 24, 3, 24},
    {"a bit-field is read", BODY { out[T] = as<Fields>(in)[T].middle; }>, 1, 2, 1, 4},
    {"a bit-field is set: its word is loaded, changed and stored",
     BODY { as<Fields>(out)[T].middle = 5; }>, 1, 2, 1, 4},
    {"shared: a struct that a function returns", BODY {
       __shared__ Doubles s[32];
       s[T] = doubles(in[T]);
       __syncthreads();
       out[T] = sum_of(s[31 - T]);
     }>, 1, 4, 1, 4, 3, 24, 3, 24},
    {"shared: a const array", BODY {
       __shared__ const float s[4] = {};
       out[T] = s[T % 4];
     }>, 0, 0, 1, 4, 1, 4, 0, 0},
    {"recursion", BODY { out[T] = sum_from(in + T, 4); }>, 4, 16, 1, 4},
    // Accesses that g++ folds before it announces anything. p[0] + p[0] is one load, as 2 * p[0]
    // would be; other pairs are two loads, though every GPU compiler loads once.
    {"p[0] + p[0]", BODY { out[T] = in[T] + in[T]; }>, 1, 4, 1, 4},
    {"p[0] - p[0] of floats", BODY { out[T] = in[T] - in[T]; }>, 2, 8, 1, 4},
    {"p[0] - p[0] of integers", BODY {
       const int* p = as<int>(in) + T;
       out[T] = p[0] - p[0];
     }>, 0, 0, 1, 4},
    {"p[0] * p[0]", BODY { out[T] = in[T] * in[T]; }>, 2, 8, 1, 4},
    {"p[0] * 0 of integers", BODY { out[T] = as<int>(in)[T] * 0; }>, 0, 0, 1, 4},
    {"a load whose value is not used", BODY { static_cast<void>(in[T]); }>, 0, 0, 0, 0},
    {"a sum of integers in one instruction", BODY {
       as<int>(out)[T] += 3;
       as<int>(out)[T] |= 8;
       --as<int>(out)[T];
     }>, 3, 12, 3, 12},
    {"short and char", BODY {
       as<short>(out)[T] = as<short>(in)[T];
       as<char>(out)[T + 256] = as<char>(in)[T];
     }>, 2, 3, 2, 3},
};

#define SUMS(goes_on, ...)                                 \
  BODY {                                                   \
    float sum = 0;                                         \
    for (unsigned i = 0; goes_on; ++i) { __VA_ARGS__; }    \
    out[T] = sum;                                          \
  }

extern const std::vector<trace::Divergence> trace::divergences = {
    {"all lanes alike", SUMS(i < 4, sum += in[T + i])>, 4, 19},
    {"every second lane skips one iteration",
     SUMS(i < 4, if (i == 1 && T % 2 == 0) continue; sum += in[32 * i + T])>, 4, 16},
    {"one load in either branch", BODY {
       float value;
       if (T < 16) {
         value = in[T];
       } else {
         value = in[T + 1];
       }
       out[T] = value + in[T];
     }>, 3, 9},
    {"lane t makes t + 1 iterations", SUMS(i <= T, sum += in[i])>, 32, 32},
    {"lanes leave the loop at different times and load once more", BODY {
       float sum = 0;
       for (unsigned i = 0; i < 8; ++i) {
         if (i == T % 4 + 2) break;
         sum += in[i];
       }
       out[T] = sum + in[T];
     }>, 6, 9},
    {"half the lanes return early", BODY {
       if (T >= 16) return;
       out[T] = in[T];
     }>, 1, 2},
    {"one helper called from two lines", BODY {
       float sum;
       if (T % 2 == 0) {
         sum = load_or_zero(in, T, 32);
       } else {
         sum = load_or_zero(in, T + 1, 64);
       }
       out[T] = sum;
     }>, 2, 9},
    {"a helper that skips its load for half the lanes",
     BODY { out[T] = load_or_zero(in, T, 16) + load_or_zero(in, T, 32); }>, 2, 6},
    {"a nested loop with different inner counts",
     SUMS(i < 3, for (unsigned j = 0; j < 1 + (T + i) % 2; ++j) sum += in[i + j])>, 6, 6},
    {"half the lanes exchange and rejoin the others", BODY {
       float value = 0;
       if (T < 16) value = __shfl_xor_sync(0xffffu, static_cast<float>(T), 1);
       out[T] = value + in[T];
     }>, 1, 4},
    {"both halves exchange separately and reconverge", BODY {
       float value;
       if (T < 16) {
         value = __shfl_xor_sync(0xffffu, in[T], 1);
       } else {
         value = __shfl_xor_sync(0xffff0000u, in[T], 1);
       }
       out[T] = value + in[T];
     }>, 3, 8},
    {"a reduction by shuffles loads once", BODY {
       float sum = in[T];
       for (int d = 16; d != 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
       if (T == 0) out[0] = sum + in[0];
     }>, 2, 5},
};

extern const std::vector<trace::Exchange> trace::exchanges = {
    {"__shfl_sync", BODY { out[T] = __shfl_sync(kAll, T, T + 1); }>,
     [](int t) { return (t + 1) % 32; }},
    {"__shfl_sync of segments of 8", BODY { out[T] = __shfl_sync(kAll, T, 3, 8); }>,
     [](int t) { return t / 8 * 8 + 3; }},
    {"__shfl_up_sync", BODY { out[T] = __shfl_up_sync(kAll, T, 3); }>,
     [](int t) { return t < 3 ? t : t - 3; }},
    {"__shfl_up_sync of segments of 16", BODY { out[T] = __shfl_up_sync(kAll, T, 1, 16); }>,
     [](int t) { return t % 16 == 0 ? t : t - 1; }},
    {"__shfl_down_sync", BODY { out[T] = __shfl_down_sync(kAll, T, 3); }>,
     [](int t) { return t + 3 < 32 ? t + 3 : t; }},
    {"__shfl_xor_sync", BODY { out[T] = __shfl_xor_sync(kAll, T, 5); }>,
     [](int t) { return t ^ 5; }},
    {"__shfl_xor_sync reaches only earlier segments",
     BODY { out[T] = __shfl_xor_sync(kAll, T, 8, 8); }>, [](int t) { return t & 8 ? t ^ 8 : t; }},
    {"__shfl_sync of a double", BODY { out[T] = __shfl_sync(kAll, T + 0.5, 7) - 0.5; }>,
     [](int) { return 7; }},
    {"ldmatrix: word t % 4 of row t / 4 of each matrix", BODY {
       __shared__ __align__(16) unsigned s[128];
       for (int i = 0; i < 4; ++i) s[4 * T + i] = 4 * T + i;
       __syncwarp();
       unsigned d[4];
       ldmatrix_x4(d, &s[4 * (31 - T)]);
       out[T] = d[0] + 128 * d[3];
     }>, [](int t) { return 4 * (31 - t / 4) + t % 4 + 128 * (4 * (7 - t / 4) + t % 4); }},
    {"mma: every lane's fragments of 16 x 8, 8 x 8 and 16 x 8", BODY {
       const int row = T / 4, column = T % 4;
       const auto a = [](int m, int k) { return __float_as_uint(m + k); };
       const auto b = [](int k, int n) { return __float_as_uint(2 * k - n); };
       const unsigned of_a[4] = {
           a(row, column), a(row + 8, column), a(row, column + 4), a(row + 8, column + 4)};
       const unsigned of_b[2] = {b(column, row), b(column + 4, row)};
       float d[4] = {1, 2, 3, 4};
       mma_m16n8k8_tf32(d, of_a, of_b);
       out[T] = d[T / 8];
     }>, [](int t) {
       const int m = t / 4 + t / 16 * 8, n = t % 4 * 2 + t / 8 % 2;
       int sum = 1 + t / 8;
       for (int k = 0; k < 8; ++k) sum += (m + k) * (2 * k - n);
       return sum;
     }},
    {"a hundred shuffles in a row stay separate", BODY {
       int value = T;
       for (int i = 0; i < 100; ++i) value = __shfl_sync(kAll, value, T + 1);
       out[T] = value;
     }>, [](int t) { return (t + 100) % 32; }},
    {"changing pairs stay separate", BODY {
       int sum = 0;
       for (unsigned other = 1; other < 4; ++other) {
         if (T == 0 || T == other) sum += __shfl_xor_sync(1u | 1u << other, T + 1, other);
       }
       out[T] = sum;
     }>, [](int t) { return t == 0 ? 2 + 3 + 4 : t < 4 ? 1 : 0; }},
    {"lanes that have left are not waited for", BODY {
       if (T >= 8) return;
       out[T] = __shfl_xor_sync(kAll, T, 1);
     }>, [](int t) { return t < 8 ? t ^ 1 : 0; }},
    {"__ballot_sync", BODY { out[T] = __popc(__ballot_sync(kAll, T % 3 == 0)); }>,
     [](int) { return 11; }},
    {"__any_sync and __all_sync", BODY {
       out[T] = 8 * __any_sync(kAll, T == 5) + 4 * __any_sync(kAll, T == 32) +
                2 * __all_sync(kAll, T < 32) + __all_sync(kAll, T != 5);
     }>, [](int) { return 10; }},
    {"__activemask in a branch", BODY {
       if (T % 4 == 0) {
         out[T] = __popc(__activemask());
       } else {
         out[T] = __popc(__activemask());
       }
     }>, [](int t) { return t % 4 == 0 ? 8 : 24; }},
    {"__syncwarp makes a warp's writes visible", BODY {
       __shared__ int s[32];
       s[T] = T;
       __syncwarp();
       out[T] = s[31 - T];
     }>, [](int t) { return 31 - t; }},
    {"__syncthreads_count, _and, _or", BODY {
       out[T] = __syncthreads_count(T < 5) + 64 * __syncthreads_and(T < 32) +
                128 * __syncthreads_and(T < 31) + 256 * __syncthreads_or(T == 9) +
                512 * __syncthreads_or(T == 32);
     }>, [](int) { return 5 + 64 + 256; }},
    {"a helper that synchronizes", BODY {
       __shared__ int s[32];
       out[T] = after_a_barrier(s, T);
     }>, [](int t) { return 31 - t; }},
    {"atomicAdd of integers, in shared memory", BODY {
       __shared__ int sum;
       sum = 0;
       __syncthreads();
       atomicAdd(&sum, static_cast<int>(T));
       __syncthreads();
       out[T] = sum;
     }>, [](int) { return 496; }},
    {"atomicAdd returns the old value", BODY {
       __shared__ unsigned next;
       next = 0;
       __syncthreads();
       out[T] = atomicAdd(&next, 1u) < 32;
     }>, [](int) { return 1; }},
    {"atomicCAS, atomicMax and atomicExch", BODY {
       __shared__ int a, b, c;
       a = b = c = 0;
       __syncthreads();
       atomicCAS(&a, T, T + 1);
       atomicMax(&b, static_cast<int>(T));
       if (T == 3) atomicExch(&c, 9);
       __syncthreads();
       out[T] = (a > 0) + 10 * b + 1000 * c;
     }>, [](int) { return 1 + 310 + 9000; }},
    {"cooperative groups: the block", BODY {
       const cooperative_groups::thread_block block = cooperative_groups::this_thread_block();
       __shared__ int s[32];
       s[block.thread_rank()] = T;
       block.sync();
       out[T] = s[31 - T] + 100 * block.size();
     }>, [](int t) { return 31 - t + 3200; }},
    {"cooperative groups: a tile of 8", BODY {
       const auto block = cooperative_groups::this_thread_block();
       const auto tile = cooperative_groups::tiled_partition<8>(block);
       int sum = tile.thread_rank();
       for (int d = tile.size() / 2; d != 0; d /= 2) sum += tile.shfl_xor(sum, d);
       out[T] = sum + 100 * tile.meta_group_rank();
     }>, [](int t) { return 28 + 100 * (t / 8); }},
    {"dim3 and warpSize", BODY {
       const dim3 block = blockDim;
       out[T] = block.x * block.y * block.z + warpSize;
     }>, [](int) { return 64; }},
    {"bits, casts and intrinsics", BODY {
       const uint bits = __float_as_uint(1.0f);
       out[T] = __uint_as_float(bits) + __clz(1) + __ffs(4) + __fmaf_rn(2, 3, 4) +
                min(7, 9u) + max(-1, 2) + __fdividef(6, 2) + rsqrtf(0.25f) + __expf(0);
     }>, [](int) { return 1 + 31 + 3 + 10 + 7 + 2 + 3 + 2 + 1; }},
};

extern const std::vector<trace::Local> trace::locals = {
    {"64 floats", BODY {
       float r[64];
       for (int i = 0; i < 64; ++i) r[i] = in[i];
       out[T] = r[T];
     }>, 256, 512, false},
    {"a helper with 64 floats, called twice", BODY { out[T] = middle_of(in) + middle_of(in + T); }>,
     256, 640, false},
    {"a recursion keeps the variables of all its calls", BODY { out[T] = deep_sum(in, 9); }>,
     10 * 64, 10 * 256, false},
    {"a lambda with 64 floats", BODY {
       const auto last = [&](int n) {
         float r[64];
         for (int i = 0; i < 64; ++i) r[i] = in[i];
         return r[n];
       };
       out[T] = last(T);
     }>, 256, 640, false},
    {"a local variable whose address is passed on", BODY {
       float value = in[T];
       float* const mine = &value;
       *mine += 1;
       out[T] = *mine;
     }>, 0, 256, false},
    {"the announcement of a struct by value does not use the kernel's stack",
     BODY { out[T] = sum_of(as<Doubles>(in)[T]); }>, 0, 256, false},
    {"another thread's local variable is loaded", BODY {
       __shared__ const float* of_first;
       float value[2] = {in[T], 0};
       if (T == 0) of_first = value;
       __syncthreads();
       if (T == 5) out[T] = *of_first;
     }>, 0, 0, true},
    {"another thread's local variable is stored to", BODY {
       __shared__ float* of_first;
       float value[2] = {in[T], 0};
       if (T == 0) of_first = value;
       __syncthreads();
       if (T == 31) *of_first = 1;
       __syncthreads();
       out[T] = value[0];
     }>, 0, 0, true},
    {"another thread's struct is passed by value", BODY {
       __shared__ const Doubles* of_first;
       Doubles value = {in[T], 0, 0};
       if (T == 0) of_first = &value;
       __syncthreads();
       out[T] = sum_of(*of_first);
     }>, 0, 0, true},
    {"a local variable of a function that has returned", BODY {
       const float* gone = address_of_local(in[T]);
       out[T] = *gone;
     }>, 0, 0, true},
};

// The C library is not compiled with the hooks.
extern const std::vector<trace::Unannounced> trace::unannounced = {
    {"a load by the C library", BODY {
       if (T == 3) out[3] = std::strlen(reinterpret_cast<const char*>(in + 100));
     }>, false, false, 3},
    {"a store by the C library",
     BODY { if (T == 9) std::strcpy(as<char>(out), text); }>, true, false, 9},
    {"another element than the announced one", BODY {
       __shared__ float s[64];
       if (T == 31) {
         __tsan_write4(&s[0]);
         std::strcpy(reinterpret_cast<char*>(&s[0]), text);
         std::strcpy(reinterpret_cast<char*>(&s[1]), text);
       }
     }>, true, false, 31},
    {"a load that is announced but never made", BODY {
       if (T == 7) __tsan_read4(const_cast<float*>(in));
       out[T] = 1;
     }>, false, true, 7},
    {"the last announcement of a block has no access",
     BODY { if (T == 8) __tsan_write4(out); }>, true, true, 8},
};

extern const std::vector<trace::Fault> trace::faults = {
    {"too much local memory", BODY { out[T] = too_deep(1000); }>,
     "it needs more than 512 KB of local memory"},
    {"a shuffle that a lane never reaches", BODY {
       if (T != 7) out[T] = __shfl_down_sync(kAll, T, 1);
       __syncthreads();
     }>, "with mask 0xffffffff for thread (7, 0, 0), which waits at __syncthreads()"},
    {"__syncwarp and a vote do not meet", BODY {
       if (T < 16) {
         __syncwarp();
       } else {
         out[T] = __ballot_sync(kAll, 1);
       }
     }>, "thread (0, 0, 0): it waits at __syncwarp"},
    {"a mask without the caller", BODY { out[T] = __shfl_sync(0xffffu, T, 0); }>,
     "thread (16, 0, 0): it calls a function of the warp with mask 0x0000ffff"},
    {"an mma that a lane never reaches", BODY {
       float d[4] = {};
       const unsigned a[4] = {}, b[2] = {};
       if (T != 7) mma_m16n8k8_tf32(d, a, b);
       __syncthreads();
       out[T] = d[0];
     }>, "it waits at mma for thread (7, 0, 0), which waits at __syncthreads()"},
    {"a load of a wmma fragment that a lane never reaches", BODY {
       wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
       if (T != 7) wmma::load_matrix_sync(b, as<half>(in), 16);
       __syncthreads();
     }>, "it waits at wmma::load_matrix_sync for thread (7, 0, 0), which waits at __syncthreads()"},
    {"an ldmatrix after a lane has left", BODY {
       __shared__ __align__(16) float s[128];
       unsigned d[4];
       if (T == 5) return;
       ldmatrix_x4(d, &s[4 * T]);
       out[T] = d[0];
     }>, "it waits at ldmatrix for thread (5, 0, 0), which has left the kernel"},
    {"an ldmatrix and an mma do not meet", BODY {
       __shared__ __align__(16) float s[128];
       unsigned d[4] = {};
       float sum[4] = {};
       const unsigned b[2] = {};
       if (T < 16) {
         ldmatrix_x4(d, &s[4 * T]);
       } else {
         mma_m16n8k8_tf32(sum, d, b);
       }
       out[T] = sum[0];
     }>, "it waits at ldmatrix for thread (16, 0, 0), which waits at another call"},
    {"an ldmatrix of global memory", BODY {
       unsigned d[4];
       ldmatrix_x4(d, in + 4 * T);
       out[T] = d[0];
     }>, "thread (0, 0, 0): it gives ldmatrix an address that is not in shared memory"},
    {"__trap", BODY { if (T == 3) __trap(); }>, "thread (3, 0, 0): the kernel calls __trap()"},
};
