// Exercise 20: split a float. exercises/20-split-a-float/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 32;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int WM = 16, WN = 16;           // and each of its four warps WM x WN of it
constexpr int kPadding = 4;               // the rows of a tile begin in different banks

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row.
__global__ void multiply(int N, int K, const float* A, const float* B, float* C) {
  __shared__ __align__(16) float As[BM][BK + kPadding];
  __shared__ __align__(16) float Bs[BN][BK + kPadding];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;  // 0 to 127
  const int warp = thread / 32, lane = thread % 32;
  const int warp_row = warp / 2 * WM;  // and this warp's tile (WM, WN) starts there in it
  const int warp_col = warp % 2 * WN;

  const int row = lane / 4, column = lane % 4;  // of the lane's elements of a fragment

  float sum[2][4] = {};  // the lane's part of columns 0 to 7 of the warp's tile, and of 8 to 15
  for (int k0 = 0; k0 < K; k0 += BK) {
    const int k_copied = thread % 8 * 4;
    for (int i = thread / 8; i < 32; i += 16) {
      as_float4(As[i][k_copied]) = as_float4(A[(block_row + i) * K + k0 + k_copied]);
      as_float4(Bs[i][k_copied]) = as_float4(B[(block_col + i) * K + k0 + k_copied]);
    }
    __syncthreads();
    // ---- your code ----
    // x = high + low, exactly, before low is rounded. The tensor core sees high in the bits of x.
    const auto low_part = [](float x) {
      const float high = __uint_as_float(__float_as_uint(x) & 0xffffe000);
      return cvt_rna_tf32(x - high);
    };
    float large[2][4] = {}, small[2][4] = {};  // sums of this tile
    for (int k = 0; k < BK; k += 8) {
      unsigned a[4], a_low[4];
      for (int i = 0; i < 4; ++i) {
        const float x = As[warp_row + row + i % 2 * 8][k + column + i / 2 * 4];
        a[i] = __float_as_uint(x);
        a_low[i] = low_part(x);
      }
      for (int j = 0; j < 2; ++j) {
        unsigned b[2], b_low[2];
        for (int i = 0; i < 2; ++i) {
          const float x = Bs[warp_col + 8 * j + row][k + column + i * 4];
          b[i] = __float_as_uint(x);
          b_low[i] = low_part(x);
        }
        mma_m16n8k8_tf32(small[j], a, b_low);
        mma_m16n8k8_tf32(small[j], a_low, b);
        mma_m16n8k8_tf32(large[j], a, b);
      }
    }
    for (int j = 0; j < 2; ++j) {
      for (int i = 0; i < 4; ++i) sum[j][i] += small[j][i] + large[j][i];
    }
    // ---- end of your code ----
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    for (int i = 0; i < 4; ++i) {
      const int m = block_row + warp_row + row + i / 2 * 8;
      const int n = block_col + warp_col + 8 * j + column * 2 + i % 2;
      C[m * N + n] = sum[j][i];
    }
  }
}

// A block of four warps for every tile of C. M, N and K are multiples of 32.
void run(Shape shape, const float* A, const float* B, float* C) {
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply, grid, dim3(128), 0, shape.N, shape.K, A, B, C);
}
