// Host matrices, row-major, 256-byte aligned like cudaMalloc's, so that sectors fall as on the GPU.
// Before and behind each lies memory that nothing may touch, so that an access which misses it
// stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {

// Memory that ends, up to the alignment, where its last page does. On both sides as many bytes are
// reserved as an int counts floats, or, where the system has no room for that (ulimit -v), fewer.
// Throws std::bad_alloc.
void* allocate_guarded(std::size_t bytes);
void free_guarded(void* memory);

template <class T>
struct Guarded {
  using value_type = T;
  Guarded() = default;
  template <class U>
  Guarded(const Guarded<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(allocate_guarded(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { free_guarded(p); }
  friend bool operator==(Guarded, Guarded) { return true; }
};

using Floats = std::vector<float, Guarded<float>>;

// `count` values, uniform in [-1, 1): the same for the same seed, on every machine.
Floats random_floats(std::size_t count, std::uint64_t seed);

// Frobenius norm of a - b over that of b; 0/0 is 0. Both have the same length. Elements that
// overflow in both are left out.
double relative_difference(std::span<const float> a, std::span<const float> b);

}  // namespace lab
