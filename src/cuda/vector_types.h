// float2, float3, float4 and the other vector types, with their make_ functions.
//
// A vector of 8 or 16 bytes is copied as one vector of bits, so that the compiler announces one
// access. (gcc announces neither `*p = f()` nor `f(*p)` for a class without copy functions of its
// own.) As on the GPU, a vector of three is aligned only like its parts and takes three accesses.
// No vector can be made from one number; otherwise (const float4&)A[i] would create a vector from
// A[i] instead of naming the four floats there. A vector that is only declared stays uninitialized,
// so it may be in a union and needs no guard variable in shared memory.
#pragma once

#define SIMT_ALWAYS_INLINE __attribute__((always_inline))

namespace simt {

template <class T, int bytes>
struct CopiedAsOne {
  using Bits __attribute__((vector_size(bytes), may_alias)) = long long;
  SIMT_ALWAYS_INLINE static void copy(T* to, const T* from) {
    *reinterpret_cast<Bits*>(to) = *reinterpret_cast<const Bits*>(from);
  }
};

template <class T>
struct alignas(2 * sizeof(T)) Vector2 {
  T x, y;
  constexpr Vector2() = default;
  constexpr Vector2(T x_, T y_) : x(x_), y(y_) {}
  SIMT_ALWAYS_INLINE Vector2(const Vector2& v) {
    CopiedAsOne<Vector2, 2 * sizeof(T)>::copy(this, &v);
  }
  SIMT_ALWAYS_INLINE Vector2& operator=(const Vector2& v) {
    CopiedAsOne<Vector2, 2 * sizeof(T)>::copy(this, &v);
    return *this;
  }
};

template <class T>
struct Vector3 {
  T x, y, z;
  constexpr Vector3() = default;
  constexpr Vector3(T x_, T y_, T z_ = 0) : x(x_), y(y_), z(z_) {}
  SIMT_ALWAYS_INLINE Vector3(const Vector3& v) : x(v.x), y(v.y), z(v.z) {}
  SIMT_ALWAYS_INLINE Vector3& operator=(const Vector3& v) {
    x = v.x;
    y = v.y;
    z = v.z;
    return *this;
  }
};

template <class T>
struct alignas(4 * sizeof(T)) Vector4 {
  T x, y, z, w;
  constexpr Vector4() = default;
  constexpr Vector4(T x_, T y_, T z_ = 0, T w_ = 0) : x(x_), y(y_), z(z_), w(w_) {}
  SIMT_ALWAYS_INLINE Vector4(const Vector4& v) {
    CopiedAsOne<Vector4, 4 * sizeof(T)>::copy(this, &v);
  }
  SIMT_ALWAYS_INLINE Vector4& operator=(const Vector4& v) {
    CopiedAsOne<Vector4, 4 * sizeof(T)>::copy(this, &v);
    return *this;
  }
};

}  // namespace simt

using float2 = simt::Vector2<float>;
using float3 = simt::Vector3<float>;
using float4 = simt::Vector4<float>;
using int2 = simt::Vector2<int>;
using int3 = simt::Vector3<int>;
using int4 = simt::Vector4<int>;
using uint2 = simt::Vector2<unsigned>;
using uint4 = simt::Vector4<unsigned>;
using double2 = simt::Vector2<double>;

// The type of threadIdx must be a plain struct: gcc does not announce the copy of a constant one.
struct uint3 {
  unsigned x, y, z;
};

inline float2 make_float2(float x, float y) {
  return {x, y};
}
inline float3 make_float3(float x, float y, float z) {
  return {x, y, z};
}
inline float4 make_float4(float x, float y, float z, float w) {
  return {x, y, z, w};
}
inline int2 make_int2(int x, int y) {
  return {x, y};
}
inline int3 make_int3(int x, int y, int z) {
  return {x, y, z};
}
inline int4 make_int4(int x, int y, int z, int w) {
  return {x, y, z, w};
}
inline uint2 make_uint2(unsigned x, unsigned y) {
  return {x, y};
}
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
  return {x, y, z};
}
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}
inline double2 make_double2(double x, double y) {
  return {x, y};
}
