// A header with a kernel and its launch, for launches.cu.
#pragma once

__global__ void doubled(int* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= 2;
}

inline void launch_doubled(int* values, int count) {
  doubled<<<(count + 31) / 32,
            32>>>(values,
                  count);
}
