#include "simt/idioms.h"

#include <cstring>
#include <utility>

#include "simt/launch.h"

namespace {

using Body = void (*)(const float* in, float* out);

template <Body body>
__global__ void kernel(const float* in, float* out) {
  body(in, out);
}

template <Body body>
void run(const float* in, float* out) {
  constexpr int kSharedBytes = 32 * 16;
  launch(kernel<body>, dim3(1), dim3(32), kSharedBytes, in, out);
}

struct Twelve {
  float x, y, z;
};
struct Large {
  float4 part[4];
};

__device__ float4 twice(float4 v) { return make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w); }
__device__ float first_of(const float4& v) { return v.x; }

__device__ const float4* vectors(const float* p) { return reinterpret_cast<const float4*>(p); }
__device__ float4* vectors(float* p) { return reinterpret_cast<float4*>(p); }

__device__ float load_or_zero(const float* p, int i, int n) { return i < n ? p[i] : 0.0f; }

__device__ float too_deep(int calls) {
  volatile float kept[256] = {};
  kept[calls % 256] = 1;
  return calls == 0 ? 0 : too_deep(calls - 1) + kept[0];
}

__device__ void call_too_deep(const float*, float* out) { out[threadIdx.x] = too_deep(100); }

}  // namespace

void run_too_deep(const float* in, float* out) { run<call_too_deep>(in, out); }

// The built-in index, short, because every idiom uses it.
#define T (threadIdx.x)
#define BODY run<[](const float* in [[maybe_unused]], float* out [[maybe_unused]])

extern const std::vector<Idiom> idioms = {
    {"out[t] = in[t]", BODY { out[T] = in[T]; }>, 1, 4, 1, 4, 0, 0, 0, 0},
    {"out[t] += in[t]", BODY { out[T] += in[T]; }>, 2, 8, 1, 4, 0, 0, 0, 0},
    {"++out[t]", BODY { ++out[T]; }>, 1, 4, 1, 4, 0, 0, 0, 0},
    {"out[t] = t < 4 ? in[t] : in[0]", BODY { out[T] = T < 4 ? in[T] : in[0]; }>,
     1, 4, 1, 4, 0, 0, 0, 0},
    {"std::swap(out[t], out[t + 32])", BODY { std::swap(out[T], out[T + 32]); }>,
     2, 8, 2, 8, 0, 0, 0, 0},
    {"a call that loads", BODY { out[T] = load_or_zero(in, T, 32); }>, 1, 4, 1, 4, 0, 0, 0, 0},
    {"a double", BODY { out[T] = static_cast<float>(reinterpret_cast<const double*>(in)[T]); }>,
     1, 8, 1, 4, 0, 0, 0, 0},
    {"float4: *q = *p", BODY { *(vectors(out) + T) = *(vectors(in) + T); }>,
     1, 16, 1, 16, 0, 0, 0, 0},
    {"float4: v = p[t]; q[t] = v", BODY {
       float4 v = vectors(in)[T];
       vectors(out)[T] = v;
     }>, 1, 16, 1, 16, 0, 0, 0, 0},
    {"float4: v declared, then assigned", BODY {
       float4 v;
       v = vectors(in)[T];
       vectors(out)[T] = v;
     }>, 1, 16, 1, 16, 0, 0, 0, 0},
    {"float4: q[t] = f(p[t])", BODY { vectors(out)[T] = twice(vectors(in)[T]); }>,
     1, 16, 1, 16, 0, 0, 0, 0},
    {"float4: q[t] = make_float4(...)", BODY { vectors(out)[T] = make_float4(1, 2, 3, 4); }>,
     0, 0, 1, 16, 0, 0, 0, 0},
    {"float4: q[t] = {...}", BODY { vectors(out)[T] = {1, 2, 3, 4}; }>, 0, 0, 1, 16, 0, 0, 0, 0},
    {"float4: p[t].y", BODY { out[T] = vectors(in)[T].y; }>, 1, 4, 1, 4, 0, 0, 0, 0},
    {"float4: q[t].y = 1", BODY { vectors(out)[T].y = 1; }>, 0, 0, 1, 4, 0, 0, 0, 0},
    {"float4: through a reference", BODY {
       const float4& from = vectors(in)[T];
       float4& to = vectors(out)[T];
       to = from;
     }>, 1, 16, 1, 16, 0, 0, 0, 0},
    {"float4: a reference handed to a function", BODY { out[T] = first_of(vectors(in)[T]); }>,
     1, 4, 1, 4, 0, 0, 0, 0},
    {"float4: one float reinterpreted", BODY {
       reinterpret_cast<float4&>(out[4 * T]) = reinterpret_cast<const float4&>(in[4 * T]);
     }>, 1, 16, 1, 16, 0, 0, 0, 0},
    {"float2: q[t] = p[t]", BODY {
       reinterpret_cast<float2*>(out)[T] = reinterpret_cast<const float2*>(in)[T];
     }>, 1, 8, 1, 8, 0, 0, 0, 0},
    {"int4: q[t] = p[t]", BODY {
       reinterpret_cast<int4*>(out)[T] = reinterpret_cast<const int4*>(in)[T];
     }>, 1, 16, 1, 16, 0, 0, 0, 0},
    {"a struct of three floats", BODY {
       reinterpret_cast<Twelve*>(out)[T] = reinterpret_cast<const Twelve*>(in)[T];
     }>, 3, 12, 3, 12, 0, 0, 0, 0},
    {"a struct of four float4", BODY {
       reinterpret_cast<Large*>(out)[T] = reinterpret_cast<const Large*>(in)[T];
     }>, 4, 64, 4, 64, 0, 0, 0, 0},
    {"memcpy of 16 bytes", BODY { std::memcpy(out + 4 * T, in + 4 * T, 16); }>,
     1, 16, 1, 16, 0, 0, 0, 0},
    {"memset of 32 bytes", BODY { std::memset(out + 8 * T, 0, 32); }>, 0, 0, 2, 32, 0, 0, 0, 0},
    {"an array in registers", BODY {
       float r[4];
       for (int i = 0; i < 4; ++i) r[i] = in[4 * T + i];
       for (int i = 3; i >= 0; --i) out[4 * T + i] = 2 * r[i];
     }>, 4, 16, 4, 16, 0, 0, 0, 0},
    {"a float4 of an array in registers", BODY {
       alignas(16) float r[4];
       reinterpret_cast<float4&>(r[0]) = vectors(in)[T];
       out[T] = r[0] + r[3];
     }>, 1, 16, 1, 4, 0, 0, 0, 0},
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
       s[T] = vectors(in)[T];
       __syncthreads();
       vectors(out)[T] = s[31 - T];
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
     }>, 0, 0, 0, 0, 0, 0, 1, 16},
    {"threadIdx and blockIdx are no memory", BODY { out[blockIdx.x * blockDim.x + T] = gridDim.x; }>,
     0, 0, 1, 4, 0, 0, 0, 0},
};

extern const std::vector<Divergence> divergences = {
    {"all lanes alike", BODY {
       float sum = 0;
       for (int i = 0; i < 4; ++i) sum += in[T + i];
       out[T] = sum;
     }>, 4},
    {"every second lane leaves out one iteration", BODY {
       float sum = 0;
       for (int i = 0; i < 4; ++i) {
         if (i == 1 && T % 2 == 0) continue;
         sum += in[T + i];
       }
       out[T] = sum;
     }>, 4},
    {"one load in either branch", BODY {
       float value;
       if (T < 16) {
         value = in[T];
       } else {
         value = in[T + 1];
       }
       out[T] = value + in[T];
     }>, 3},
    {"lane t makes t + 1 rounds", BODY {
       float sum = 0;
       for (unsigned i = 0; i <= T; ++i) sum += in[i];
       out[T] = sum;
     }>, 32},
    {"lanes leave the loop at different times and load once more", BODY {
       float sum = 0;
       for (unsigned i = 0; i < 8; ++i) {
         if (i == T % 4 + 2) break;
         sum += in[i];
       }
       out[T] = sum + in[T];
     }>, 6},
    {"half the lanes return early", BODY {
       if (T >= 16) return;
       out[T] = in[T];
     }>, 1},
    {"one helper called from two lines", BODY {
       float sum;
       if (T % 2 == 0) {
         sum = load_or_zero(in, T, 32);
       } else {
         sum = load_or_zero(in, T + 1, 64);
       }
       out[T] = sum;
     }>, 2},
    {"a helper that skips its load for half the lanes", BODY {
       out[T] = load_or_zero(in, T, 16) + load_or_zero(in, T, 32);
     }>, 2},
    {"a nested loop with different inner counts", BODY {
       float sum = 0;
       for (unsigned i = 0; i < 3; ++i) {
         for (unsigned j = 0; j < 1 + (T + i) % 2; ++j) sum += in[i + j];
       }
       out[T] = sum;
     }>, 6},
};
