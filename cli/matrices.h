// Host matrices, row-major, 256-byte aligned like cudaMalloc's, so that sectors fall as on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

template <class T>
struct Aligned256 {
  using value_type = T;
  Aligned256() = default;
  template <class U>
  Aligned256(const Aligned256<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{256}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{256}); }
  friend bool operator==(Aligned256, Aligned256) { return true; }
};

using Floats = std::vector<float, Aligned256<float>>;

// `count` values, uniform in [-1, 1): the same for the same seed, on every machine.
Floats random_floats(std::size_t count, std::uint64_t seed);

// Frobenius norm of a - b over that of b; 0/0 is 0. Both have the same length.
double relative_difference(const Floats& a, const Floats& b);
