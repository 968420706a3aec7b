// Host matrices, row-major, 256-byte aligned like cudaMalloc's, so that sectors begin where they do
// on the GPU. The memory before and after each matrix is inaccessible, so an access outside of it
// stops the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {

// Memory that ends at the end of its last page, up to the alignment. On both sides it reserves as
// many bytes as an int can count floats, or fewer if the system has no room for that (ulimit -v).
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

// `count` values, uniform in [-1, 1). The same seed gives the same values on every machine.
Floats random_floats(std::size_t count, std::uint64_t seed);

// The Frobenius norm of a - b divided by that of b; 0/0 is 0. Both have the same length. Elements
// that overflow in both are ignored.
double relative_difference(std::span<const float> a, std::span<const float> b);

}  // namespace lab
