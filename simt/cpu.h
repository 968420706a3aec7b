// CUDA's vocabulary for g++: with `-include simt/cpu.h` a kernel written for nvcc compiles as C++.
//
// Every thread of a block is a fiber on one thread of the operating system (simt/grid.cpp), so a
// thread_local variable is exactly what __shared__ promises: one copy for all threads of a block.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "simt/grid.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// Inside a function thread_local implies static. 128 bytes is one row of the 32 banks.
#define __shared__ __attribute__((aligned(128))) thread_local

using uint = unsigned int;
using std::max;
using std::min;

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct uint3 {
  unsigned x, y, z;
};

// The vector types. Each is copied as one vector of bits, so that the compiler announces one access
// (gcc announces neither `*p = f()` nor `f(*p)` for a class that has no copy functions of its own).
// The constructors are constexpr, so that a __shared__ array of them needs no guard variable.
namespace simt {
template <class T, int bytes>
struct CopiedAsOne {
  using Bits __attribute__((vector_size(bytes), may_alias)) = long long;
  __attribute__((always_inline)) static void copy(T* to, const T* from) {
    *reinterpret_cast<Bits*>(to) = *reinterpret_cast<const Bits*>(from);
  }
};

template <class T>
struct alignas(8) Vector2 {
  T x = 0, y = 0;
  constexpr Vector2() = default;
  constexpr Vector2(T x_, T y_) : x(x_), y(y_) {}
  __attribute__((always_inline)) Vector2(const Vector2& v) {
    CopiedAsOne<Vector2, 8>::copy(this, &v);
  }
  __attribute__((always_inline)) Vector2& operator=(const Vector2& v) {
    CopiedAsOne<Vector2, 8>::copy(this, &v);
    return *this;
  }
};

template <class T>
struct alignas(16) Vector4 {
  T x = 0, y = 0, z = 0, w = 0;
  constexpr Vector4() = default;
  constexpr Vector4(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {}
  __attribute__((always_inline)) Vector4(const Vector4& v) {
    CopiedAsOne<Vector4, 16>::copy(this, &v);
  }
  __attribute__((always_inline)) Vector4& operator=(const Vector4& v) {
    CopiedAsOne<Vector4, 16>::copy(this, &v);
    return *this;
  }
};
}  // namespace simt

using float2 = simt::Vector2<float>;
using int2 = simt::Vector2<int>;
using uint2 = simt::Vector2<unsigned>;
using float4 = simt::Vector4<float>;
using int4 = simt::Vector4<int>;
using uint4 = simt::Vector4<unsigned>;

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

// Set before a thread runs (simt/grid.cpp). gcc does not announce reads of const variables, so the
// tracer never sees these.
extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;
extern const __thread uint3 blockDim;
extern const __thread uint3 gridDim;
inline constexpr int warpSize = 32;

inline void __syncthreads() {
  simt::block_barrier();
}
inline void __syncwarp(unsigned = 0xffffffffu) {
  simt::warp_barrier();
}

// cp.async, as <cuda_pipeline.h> names it. Counted where it is called (simt/trace.cpp).
void __pipeline_memcpy_async(void* shared, const void* global, std::size_t size,
                             std::size_t zfill = 0);
void __pipeline_commit();
void __pipeline_wait_prior(int groups_in_flight);

// kernel<<<grid, block, shared_bytes>>>(arguments...), because <<< >>> is not C++.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, int shared_bytes,
            Arguments... arguments) {
  auto thread = [&] { kernel(arguments...); };
  using Thread = decltype(thread);
  simt::run_grid(
      reinterpret_cast<const void*>(kernel), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z},
      shared_bytes, [](void* context) { (*static_cast<Thread*>(context))(); }, &thread);
}
