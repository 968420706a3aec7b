// float2, float3, float4 and the other vector types, with their make_ functions.
//
// A vector of up to 16 bytes is copied as one vector of bits, so that the compiler announces one
// access; one of 32 bytes as two, like nvcc does. (gcc announces neither `*p = f()` nor `f(*p)` for
// a class without copy functions of its own.) As on the GPU, a vector of three is aligned only like
// its parts and takes three accesses. No vector can be made from one number; otherwise (const
// float4&)A[i] would create a vector from A[i] instead of naming the four floats there. A vector
// that is only declared stays uninitialized, so it may be in a union and needs no guard variable in
// shared memory. gcc announces no reads of a constant variable, unless a part of it can change:
// hence the mutable bit-field of no bits, which is no member. Only so a use of an unwritten word is
// noticed.
#pragma once

#define SIMT_ALWAYS_INLINE __attribute__((always_inline))

namespace simt {

template <int bytes>
struct Bits {
  using Type __attribute__((vector_size(bytes), may_alias)) = long long;
};
template <>
struct Bits<1> {
  using Type __attribute__((may_alias)) = unsigned char;
};
template <>
struct Bits<2> {
  using Type __attribute__((may_alias)) = unsigned short;
};
template <>
struct Bits<4> {
  using Type __attribute__((may_alias)) = unsigned;
};

template <int bytes, class T>
SIMT_ALWAYS_INLINE inline void copy_as_one(T* to, const T* from) {
  using Piece = typename Bits<bytes <= 16 ? bytes : 16>::Type;
  for (int i = 0; i < bytes / static_cast<int>(sizeof(Piece)); ++i) {
    reinterpret_cast<Piece*>(to)[i] = reinterpret_cast<const Piece*>(from)[i];
  }
}
// The copy functions of such a class.
#define SIMT_COPIED_AS_ONE(Self, bytes)               \
  SIMT_ALWAYS_INLINE Self(const Self& v) {            \
    simt::copy_as_one<bytes>(this, &v);               \
  }                                                   \
  SIMT_ALWAYS_INLINE Self& operator=(const Self& v) { \
    simt::copy_as_one<bytes>(this, &v);               \
    return *this;                                     \
  }

template <class T>
SIMT_ALWAYS_INLINE inline unsigned bits_of(const T& four_bytes) {
  static_assert(sizeof(T) == 4);
  return *reinterpret_cast<const Bits<4>::Type*>(&four_bytes);
}

template <class T>
struct Vector1 {
  T x;
};

template <class T>
struct alignas(2 * sizeof(T)) Vector2 {
  T x, y;
  mutable char : 0;
  constexpr Vector2() = default;
  constexpr Vector2(T x_, T y_) : x(x_), y(y_) {}
  SIMT_COPIED_AS_ONE(Vector2, 2 * sizeof(T))
};

template <class T>
struct Vector3 {
  T x, y, z;
  mutable char : 0;
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
struct alignas(sizeof(T) < 8 ? 4 * sizeof(T) : 16) Vector4 {
  T x, y, z, w;
  mutable char : 0;
  constexpr Vector4() = default;
  constexpr Vector4(T x_, T y_, T z_ = 0, T w_ = 0) : x(x_), y(y_), z(z_), w(w_) {}
  SIMT_COPIED_AS_ONE(Vector4, 4 * sizeof(T))
};

}  // namespace simt

// The type of threadIdx must be a plain struct: gcc does not announce the copy of a constant one.
struct uint3 {
  unsigned x, y, z;
};
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) {
  return {x, y, z};
}

#define SIMT_VECTORS_OF_1_2_4(T, name)                \
  using name##1 = simt::Vector1<T>;                   \
  using name##2 = simt::Vector2<T>;                   \
  using name##4 = simt::Vector4<T>;                   \
  inline name##1 make_##name##1(T x) {                \
    return {x};                                       \
  }                                                   \
  inline name##2 make_##name##2(T x, T y) {           \
    return {x, y};                                    \
  }                                                   \
  inline name##4 make_##name##4(T x, T y, T z, T w) { \
    return {x, y, z, w};                              \
  }
#define SIMT_VECTORS(T, name)                    \
  SIMT_VECTORS_OF_1_2_4(T, name)                 \
  using name##3 = simt::Vector3<T>;              \
  inline name##3 make_##name##3(T x, T y, T z) { \
    return {x, y, z};                            \
  }
SIMT_VECTORS(signed char, char)
SIMT_VECTORS(unsigned char, uchar)
SIMT_VECTORS(short, short)
SIMT_VECTORS(unsigned short, ushort)
SIMT_VECTORS(int, int)
SIMT_VECTORS_OF_1_2_4(unsigned, uint)
SIMT_VECTORS(long, long)
SIMT_VECTORS(unsigned long, ulong)
SIMT_VECTORS(long long, longlong)
SIMT_VECTORS(unsigned long long, ulonglong)
SIMT_VECTORS(float, float)
SIMT_VECTORS(double, double)
#undef SIMT_VECTORS
#undef SIMT_VECTORS_OF_1_2_4

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
