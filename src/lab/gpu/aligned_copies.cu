#include "simulator/cuda/aligned_copies.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <string>

#include "model/refusal.h"

namespace {

// A block for each row.
template <class Element>
__global__ void copy_rows(
    const float* from, int columns, Element* to, std::size_t pitch, OnlyIf only_if) {
  if (!is_to_run(only_if)) return;
  from += blockIdx.x * std::size_t(columns);
  to += blockIdx.x * pitch;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) to[i] = Element(from[i]);
}

}  // namespace

AlignedMatrix AlignedCopies::copy(
    const char* name, Memory& to, const float* matrix, int rows, int columns, CopiedAs as,
    OnlyIf only_if) {
  const std::uint64_t pitch = pitch_bytes(columns, as);
  const std::size_t bytes = rows * pitch;
  if (bytes > to.bytes) {
    cudaFree(to.begin);
    to = {};
    if (cudaMalloc(&to.begin, bytes) != cudaSuccess) {
      cudaGetLastError();
      throw model::Refusal(std::string("the GPU has no memory for a copy of ") + name);
    }
    to.bytes = bytes;
  }
  constexpr int kThreads = 256;
  if (as == CopiedAs::bf16) {
    copy_rows<<<rows, kThreads>>>(
        matrix, columns, static_cast<__nv_bfloat16*>(to.begin), pitch / sizeof(__nv_bfloat16),
        only_if);
  } else {
    copy_rows<<<rows, kThreads>>>(
        matrix, columns, static_cast<float*>(to.begin), pitch / sizeof(float), only_if);
  }
  return {to.begin, pitch};
}
