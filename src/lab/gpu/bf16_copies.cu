#include "simulator/cuda/bf16_copies.h"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <string>

#include "model/refusal.h"

namespace {

__global__ void round_to_bf16(
    const float* from, int rows, int columns, std::uint16_t* to, int pitch) {
  const long long count = static_cast<long long>(rows) * columns;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    to[i / columns * pitch + i % columns] = __bfloat16_as_ushort(__float2bfloat16_rn(from[i]));
  }
}

}  // namespace

Bf16Matrix Bf16Copies::copy(
    const char* name, Memory& to, const float* matrix, int rows, int columns) {
  const std::uint64_t pitch = pitch_bytes(columns);
  const std::size_t bytes = rows * pitch;
  if (bytes > to.bytes) {
    cudaFree(to.begin);
    to = {};
    if (cudaMalloc(&to.begin, bytes) != cudaSuccess) {
      cudaGetLastError();
      throw model::Refusal(std::string("the GPU has no memory for ") + name + " in bf16");
    }
    to.bytes = bytes;
  }
  constexpr int kBlocks = 1024, kThreads = 256;
  round_to_bf16<<<kBlocks, kThreads>>>(
      matrix, rows, columns, to.begin, static_cast<int>(pitch / sizeof *to.begin));
  return {to.begin, pitch};
}
