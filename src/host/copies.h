// The copies between host and GPU.
#pragma once

#include <cstddef>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"

namespace host {

// Rows of `width` bytes, `pitch` bytes apart.
struct Rows {
  std::size_t width, height, pitch;
  bool empty() const { return width == 0 || height == 0; }
  std::size_t bytes() const { return (height - 1) * pitch + width; }
};

// Copies the rows from memory in which they are `from_pitch` bytes apart. What is wrong with the
// arguments is noted by `call`.
cudaError_t copy(
    const Call& call, void* to, const Rows& rows, const void* from, std::size_t from_pitch,
    cudaMemcpyKind kind, cudaStream_t stream, simt::KnownBytes known = {});

// Sets the bytes of the rows.
cudaError_t set(const Call& call, void* to, int value, const Rows& rows, cudaStream_t stream);

// Boxes of slices, which are rows. Neither side is a texture's array.
cudaError_t copy_box(const Call& call, const cudaMemcpy3DParms& what, cudaStream_t stream);

}  // namespace host
