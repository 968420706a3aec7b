// The position of a block in its grid and of a thread in its block, as numbers and as text.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/cuda/runtime.h"
#include "simulator/cuda/vector_types.h"

namespace machine {

// CUDA's built-in variables, for the running thread. Kernels see the same as constants
// (cuda/cpu.h).
extern __thread uint3 threadIdx __asm__("threadIdx");
extern __thread uint3 blockIdx __asm__("blockIdx");
extern __thread uint3 blockDim __asm__("blockDim");
extern __thread uint3 gridDim __asm__("gridDim");
extern __thread int warpSize __asm__("warpSize");

using simt::Extent;

inline uint3 position(std::int64_t index, Extent extent) {
  const auto x = index % extent.x, y = index / extent.x % extent.y;
  return {
      static_cast<unsigned>(x), static_cast<unsigned>(y),
      static_cast<unsigned>(index / extent.x / extent.y)};
}

inline std::string text_of(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
}

inline std::string text_of(Extent extent) {
  return std::to_string(extent.x) + " x " + std::to_string(extent.y) + " x " +
         std::to_string(extent.z);
}

}  // namespace machine
