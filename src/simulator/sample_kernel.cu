// What README.md traces: a transpose whose stores are not coalesced.
#include "simulator/cuda/launch.h"

__global__ void transpose(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

void launch_transpose(const float* in, float* out, int n) {
  const unsigned blocks = (n + 31) / 32;
  launch(transpose, {blocks, blocks}, {32, 32}, 0, in, out, n);
}
