// A matrix product on tensor cores, with every instruction of the GPU as inline PTX: guarded loads,
// copies to shared memory, and three tf32 products for the accuracy of fp32.
//   make try KERNEL=examples/inline_ptx.cu
#include <cuda_runtime.h>

#include <cstdint>

// x = big + small, both tf32.
struct Split {
  uint32_t big, small;
};
__device__ __forceinline__ Split split(float x) {
  Split s;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(s.big) : "f"(x));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(s.small) : "f"(x - __uint_as_float(s.big)));
  return s;
}

#define MMA_TF32(d, a0, a1, a2, a3, b0, b1)                               \
  asm volatile(                                                           \
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "               \
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n" \
      : "+f"((d)[0]), "+f"((d)[1]), "+f"((d)[2]), "+f"((d)[3])            \
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))

// Copies a float to shared memory, or a zero from outside of the matrix.
__device__ __forceinline__ void copy_or_zero(uint32_t to, const float* from, bool inside) {
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.b32 p, %2, 0;\n"
      "  @p cp.async.ca.shared.global [%0], [%1], 4;\n"
      "  @!p st.shared.b32 [%0], 0;\n"
      "}\n" ::"r"(to),
      "l"(from), "r"(static_cast<int>(inside))
      : "memory");
}

constexpr int kTile = 64, kDepth = 16, kPitchA = 20, kPitchB = 72;

__global__ void __launch_bounds__(128) multiply(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float a_tile[kTile * kPitchA], b_tile[kDepth * kPitchB];
  const auto a_at = static_cast<uint32_t>(__cvta_generic_to_shared(a_tile));
  const auto b_at = static_cast<uint32_t>(__cvta_generic_to_shared(b_tile));
  const int t = threadIdx.x, lane = t % 32, g = lane / 4, q = lane % 4;
  const int warp_row = t / 32 % 2 * 32, warp_col = t / 64 * 32;
  const int row0 = blockIdx.y * kTile, col0 = blockIdx.x * kTile;
  float d[2][4][4] = {};
  for (int k0 = 0; k0 < K; k0 += kDepth) {
    for (int i = t; i < kTile * kDepth; i += blockDim.x) {
      const int row = i / kDepth, k = i % kDepth;
      const bool inside = row0 + row < M && k0 + k < K;
      copy_or_zero(
          a_at + (row * kPitchA + k) * 4, inside ? A + (row0 + row) * K + k0 + k : A, inside);
    }
    for (int i = t; i < kTile * kDepth; i += blockDim.x) {
      const int k = i / kTile, col = i % kTile;
      const bool inside = k0 + k < K && col0 + col < N;
      copy_or_zero(
          b_at + (k * kPitchB + col) * 4, inside ? B + (k0 + k) * N + col0 + col : B, inside);
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
    __syncthreads();
    for (int k = 0; k < kDepth; k += 8) {
      Split a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i) {
        for (int e = 0; e < 4; ++e) {
          const int row = warp_row + i * 16 + g + e % 2 * 8;
          a[i][e] = split(a_tile[row * kPitchA + k + q + e / 2 * 4]);
        }
      }
      for (int j = 0; j < 4; ++j) {
        for (int e = 0; e < 2; ++e) {
          b[j][e] = split(b_tile[(k + q + e * 4) * kPitchB + warp_col + j * 8 + g]);
        }
      }
#define PRODUCT(x, y) \
  MMA_TF32(d[i][j], a[i][0].x, a[i][1].x, a[i][2].x, a[i][3].x, b[j][0].y, b[j][1].y)
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          PRODUCT(small, big);
          PRODUCT(big, small);
          PRODUCT(big, big);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + warp_row + i * 16 + g + e / 2 * 8;
        const int col = col0 + warp_col + j * 8 + q * 2 + e % 2;
        if (row >= M || col >= N) continue;
        float* const c = C + row * N + col;
        const float result = alpha * d[i][j][e] + (beta == 0 ? 0 : beta * *c);
        asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(c), "f"(result) : "memory");
      }
    }
  }
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const dim3 grid((N + kTile - 1) / kTile, (M + kTile - 1) / kTile);
  multiply<<<grid, 128>>>(M, N, K, alpha, A, B, beta, C);
}
