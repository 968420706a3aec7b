// gemm_steps: how a matrix multiplication becomes fast on a GPU, one idea per stage.
//
// Every kernel computes C = alpha * A * B + beta * C for row-major fp32 matrices: A is M x K,
// B is K x N, C is M x N. Read it from top to bottom, from slow to fast. Each stage is the previous
// one plus one idea; `src/school/lesson/diff.sh naive coalesced` shows what changed between two.
// From stage 12 on, tensor cores multiply; in 12 and 13, A and B are rounded to tf32 for them.
//
//   0  serial                  the triple loop on one CPU core (cpu_reference.cpp)
//   1  naive                   one thread per element of C; warps walk down columns
//   2  coalesced               neighbouring threads read neighbouring addresses
//   3  shared-memory tiling    the threads of a block share tiles of A and B
//   4  1D thread coarsening    a thread computes TM results and reuses an element of B for all
//   5  2D thread tiling        a thread computes TM x TN results from TM + TN elements
//   6  vectorized              four floats per instruction, wherever data moves
//   7  conflict-free           no two lanes of a warp ask the same memory bank for different words
//   8  warp tiling             a warp computes its own tile, and its lanes share what they read
//   9  async pipeline          the next tiles are in flight while this one is multiplied
//  10  register pipeline       the next fragments come to registers while these are multiplied
//  11  balanced                the last wave of blocks is shared out, so that no SM idles
//  12  tensor cores            one instruction of a warp multiplies a 16 x 8 by an 8 x 8 matrix
//  13  Hopper                  a copy engine fills the ring; four warps multiply 64 x 8 by 8 x 256
//  14  fp32 from tensor cores  each float is two tf32 numbers; three products make one of fp32
//
// Compile: make, or by hand nvcc -std=c++20 -O3 -Xcompiler=-iquote,src -c gemm_steps.cu.
// Without a GPU the same source runs on the CPU, traced.

#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/walk.h"
#include "model/error.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "simulator/cuda/bf16_copies.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/launch.h"

// What the kernels share: edges and float4. No stage's idea is here.

__host__ __device__ constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

// The index of (row, col) in a row-major matrix. 64 bits, since matrices can exceed 2^31 elements.
__device__ __forceinline__ long long offset(int row, int col, int cols) {
  return static_cast<long long>(row) * cols + col;
}

// Tiles can extend beyond the edge of the matrix. A zero there adds nothing to any sum.
__device__ inline float load_or_zero(const float* matrix, int rows, int cols, int row, int col) {
  return row < rows && col < cols ? matrix[offset(row, col, cols)] : 0.0f;
}

// C = alpha * sum + beta * C for one element. As in BLAS, C is not read if beta is 0.
__device__ inline void update_if_inside(
    float* C, int M, int N, int row, int col, float alpha, float sum, float beta) {
  if (row >= M || col >= N) return;
  float& c = C[offset(row, col, N)];
  c = beta == 0.0f ? alpha * sum : alpha * sum + beta * c;
}

// Four neighbouring floats as one 16-byte access. The first must be 16-byte aligned.
__device__ inline float4& as_float4(float& first) {
  return reinterpret_cast<float4&>(first);
}
__device__ inline const float4& as_float4(const float& first) {
  return reinterpret_cast<const float4&>(first);
}

// The same two helpers for four neighbours in a row. VEC is 4 if every row is 16-byte aligned and
// has a multiple of four floats: then all four are inside or all are outside. Otherwise VEC is 1.
template <int VEC>
__device__ inline float4 load4_or_zero(const float* matrix, int rows, int cols, int row, int col) {
  if constexpr (VEC == 4) {
    if (row >= rows || col >= cols) return float4{0.0f, 0.0f, 0.0f, 0.0f};
    return as_float4(matrix[offset(row, col, cols)]);
  } else {
    return float4{
        load_or_zero(matrix, rows, cols, row, col), load_or_zero(matrix, rows, cols, row, col + 1),
        load_or_zero(matrix, rows, cols, row, col + 2),
        load_or_zero(matrix, rows, cols, row, col + 3)};
  }
}

template <int VEC>
__device__ inline void update4_if_inside(
    float* C, int M, int N, int row, int col, float alpha, float4 sum, float beta) {
  if constexpr (VEC == 4) {
    if (row >= M || col >= N) return;
    float4& c = as_float4(C[offset(row, col, N)]);
    float4 result = {alpha * sum.x, alpha * sum.y, alpha * sum.z, alpha * sum.w};
    if (beta != 0.0f) {
      const float4 old = c;
      result.x += beta * old.x;
      result.y += beta * old.y;
      result.z += beta * old.z;
      result.w += beta * old.w;
    }
    c = result;
  } else {
    update_if_inside(C, M, N, row, col, alpha, sum.x, beta);
    update_if_inside(C, M, N, row, col + 1, alpha, sum.y, beta);
    update_if_inside(C, M, N, row, col + 2, alpha, sum.z, beta);
    update_if_inside(C, M, N, row, col + 3, alpha, sum.w, beta);
  }
}

// Stage 1: naive
// The direct translation of the triple loop: one thread per element of C.
// Each thread loads a row of A and a column of B from global memory: 2K loads for one result.
// The lanes of a warp have consecutive threadIdx.x, here consecutive rows. Their elements of A are
// K floats apart: one request touches 32 sectors and uses 4 bytes of each. Stage 2 shows what that
// costs.
template <int BM, int BN>
__global__ void naive(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * BM + threadIdx.x;
  const int col = blockIdx.x * BN + threadIdx.y;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[offset(row, k, K)] * B[offset(k, col, N)];
  }

  update_if_inside(C, M, N, row, col, alpha, sum, beta);
}

// Stage 2: coalesced
// threadIdx.x and threadIdx.y change places, and nothing else changes: a warp now walks along a row
// of C. Its lanes read the same element of A and 32 neighbours of B: 1 + 4 sectors instead of
// 32 + 1. Each thread still makes the same 2K loads; the hardware fetches far less for them.
template <int BM, int BN>
__global__ void coalesced(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y * BM + threadIdx.y;
  const int col = blockIdx.x * BN + threadIdx.x;
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[offset(row, k, K)] * B[offset(k, col, N)];
  }

  update_if_inside(C, M, N, row, col, alpha, sum, beta);
}

// Stage 3: shared-memory tiling
// The threads of a block need the same rows of A and columns of B. Together they copy one tile of
// each at a time into shared memory, and all of them multiply from there.
// A thread loads 2 floats for BK steps: 2K/BK from global memory in all, and 2K from shared memory.
// The first barrier waits until the tile is complete, the second until no thread needs it any more.
template <int BM, int BN, int BK>
__global__ void shared_memory_tiling(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y, col = threadIdx.x;  // in it, this thread's result

  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += BK) {
    As[row][col] = load_or_zero(A, M, K, block_row + row, k0 + col);
    Bs[row][col] = load_or_zero(B, K, N, k0 + row, block_col + col);
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      sum += As[row][k] * Bs[k][col];
    }
    __syncthreads();
  }

  update_if_inside(C, M, N, block_row + row, block_col + col, alpha, sum, beta);
}

// Stage 4: 1D thread coarsening
// A thread computes TM results, one below the other. An element of B, once in a register, serves
// all TM of them: TM + 1 loads from shared memory for TM multiplications instead of 2 TM.
// The tile can grow without more threads. Each thread then makes K (BM + BN) / threads loads from
// global memory.
template <int BM, int BN, int BK, int TM>
__global__ void thread_coarsening_1d(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * BN;
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * TM, col = threadIdx.x;  // in it, this thread's first result
  const int thread = threadIdx.y * BN + threadIdx.x;

  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += kThreads / BK) {
      const int m = i + thread / BK, k = thread % BK;
      As[m][k] = load_or_zero(A, M, K, block_row + m, k0 + k);
    }
    for (int i = 0; i < BK; i += kThreads / BN) {
      const int k = i + thread / BN, n = thread % BN;
      Bs[k][n] = load_or_zero(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      const float b = Bs[k][col];
      for (int i = 0; i < TM; ++i) {
        sum[i] += As[row + i][k] * b;
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    update_if_inside(C, M, N, block_row + row + i, block_col + col, alpha, sum[i], beta);
  }
}

// Stage 5: 2D thread tiling
// A thread computes TM x TN results. In every step of k it loads TM elements of A and TN of B into
// registers and multiplies each by each: at 8 x 8, 16 loads for 64 multiplications, where a column
// of eight took 9 for 8. Shared memory is still the busiest unit, but each load feeds more.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN)) thread_tiling_2d(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * TM, col = threadIdx.x * TN;  // in it, this thread's first result
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += kThreads / BK) {
      const int m = i + thread / BK, k = thread % BK;
      As[m][k] = load_or_zero(A, M, K, block_row + m, k0 + k);
    }
    for (int i = 0; i < BK; i += kThreads / BN) {
      const int k = i + thread / BN, n = thread % BN;
      Bs[k][n] = load_or_zero(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      update_if_inside(C, M, N, block_row + row + i, block_col + col + j, alpha, sum[i][j], beta);
    }
  }
}

// Stage 6: vectorized
// Wherever data moves, one instruction moves four floats: the same bytes with a quarter of the
// loads. That takes four neighbours in memory that one thread wants together. For B they already
// are neighbours. A's tile is transposed as it is stored: As[k][m] instead of As[m][k].
// A step of k is short now, so `#pragma unroll` writes out all BK of them: no counter, no branch,
// and the loads of one step can be issued before the multiplications of another.
template <int BM, int BN, int BK, int TM, int TN, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN)) vectorized(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  __shared__ __align__(16) float As[BK][BM];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * TM, col = threadIdx.x * TN;  // in it, this thread's first result
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += 4 * kThreads / BK) {
      const int m = i + 4 * thread / BK, k = 4 * thread % BK;
      const float4 a = load4_or_zero<VEC>(A, M, K, block_row + m, k0 + k);
      As[k][m] = a.x;
      As[k + 1][m] = a.y;
      As[k + 2][m] = a.z;
      As[k + 3][m] = a.w;
    }
    for (int i = 0; i < BK; i += 4 * kThreads / BN) {
      const int k = i + 4 * thread / BN, n = 4 * thread % BN;
      as_float4(Bs[k][n]) = load4_or_zero<VEC>(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[k][row + i]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + j]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          C, M, N, block_row + row + i, block_col + col + j, alpha, as_float4(sum[i][j]), beta);
    }
  }
}

// From stage 7 on, a thread's results come in groups of four, with its neighbours' groups between
// them. Returns the distance of its i-th row or column from its first.
__device__ constexpr int spread(int i, int neighbours) {
  return i / 4 * 4 * neighbours + i % 4;
}

// Stage 7: conflict-free
// Shared memory has 32 banks, and each delivers one word per cycle. Lanes that want different words
// of one bank take turns. In stage 6 a load of B takes twice as long as it could: neighbouring
// lanes read 8 floats apart. Now a thread's results are squares of 4 x 4 with its neighbours'
// squares in between, so that the lanes' float4 lie side by side. And the stores of A used only 16
// banks: four words of padding per row of As move the lanes with the higher k to the other 16.
template <int BM, int BN, int BK, int TM, int TN, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN)) conflict_free(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  __shared__ __align__(16) float As[BK][BM + 4];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * 4, col = threadIdx.x * 4;  // in it, this thread's first result
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += 4 * kThreads / BK) {
      const int m = i + 4 * thread / BK, k = 4 * thread % BK;
      const float4 a = load4_or_zero<VEC>(A, M, K, block_row + m, k0 + k);
      As[k][m] = a.x;
      As[k + 1][m] = a.y;
      As[k + 2][m] = a.z;
      As[k + 3][m] = a.w;
    }
    for (int i = 0; i < BK; i += 4 * kThreads / BN) {
      const int k = i + 4 * thread / BN, n = 4 * thread % BN;
      as_float4(Bs[k][n]) = load4_or_zero<VEC>(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[k][row + spread(i, BM / TM)]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + spread(j, BN / TN)]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          C, M, N, block_row + row + spread(i, BM / TM), block_col + col + spread(j, BN / TN),
          alpha, as_float4(sum[i][j]), beta);
    }
  }
}

// Stage 8: warp tiling
// A level between block and thread: a warp computes a tile of WM x WN, and a lane 16 x 8 results of
// it. 24 floats from shared memory feed 128 multiplications, where stage 7 took 16 for 64. Lanes
// are numbered so that bit 0 moves along columns and bit 1 along rows. So two neighbouring lanes
// ask for the same float4, and shared memory serves 16 lanes at once instead of 8. The 3 in the
// launch bounds keeps the registers at 168, so that three blocks fit on an SM.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 3) warp_tiling(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  __shared__ __align__(16) float As[BK][BM + 4];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += 4 * kThreads / BK) {
      const int m = i + 4 * thread / BK, k = 4 * thread % BK;
      const float4 a = load4_or_zero<VEC>(A, M, K, block_row + m, k0 + k);
      As[k][m] = a.x;
      As[k + 1][m] = a.y;
      As[k + 2][m] = a.z;
      As[k + 3][m] = a.w;
    }
    for (int i = 0; i < BK; i += 4 * kThreads / BN) {
      const int k = i + 4 * thread / BN, n = 4 * thread % BN;
      as_float4(Bs[k][n]) = load4_or_zero<VEC>(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          C, M, N, block_row + row + spread(i, WM / TM), block_col + col + spread(j, WN / TN),
          alpha, as_float4(sum[i][j]), beta);
    }
  }
}

// Stages 9 to 11 keep several tiles in shared memory, each with A transposed and padded as before.
// __align__(128) puts the first at the start of a line of shared memory. Stage 11 has a variable of
// 4 bytes besides; without the alignment it would move the tiles by 16 bytes, and cp.async of 16
// bytes would fetch every sector twice.
template <int BM, int BN, int BK>
struct Tiles {
  float A[BK][BM + 4];
  float B[BK][BN];
};

// cp.async copies VEC floats to shared memory without a register in between and without waiting. If
// `zero`, zeros arrive and nothing is read.
template <int VEC>
__device__ inline void copy_async(float* to, const float* from, bool zero) {
  cp_async<VEC * sizeof(float)>(to, from, zero);
}

// One thread's part of all copies of a block: from left to right through BM rows of A, and down
// through BN columns of B. Only the first tile can be short, so no later copy checks K. None checks
// M and N: a row or column past the edge is replaced by the last one. What is computed from it is
// never stored.
template <int BM, int BN, int BK, int kThreads, int VEC>
struct Copies {
  static constexpr int kRowsA = kThreads / BK, kRowsB = VEC * kThreads / BN;  // copied at a time
  int cols, a_m, a_k, b_k, b_n;
  const float* from_A[BM / kRowsA];
  const float* from_B;

  __device__ Copies(
      const float* A, const float* B, int M, int N, int K, int block_row, int block_col, int k0)
      : cols(N) {
    const int thread = threadIdx.x;
    a_m = thread / BK, a_k = thread % BK;
    b_k = VEC * thread / BN, b_n = VEC * thread % BN;
    for (int i = 0; i < BM / kRowsA; ++i) {
      from_A[i] = A + offset(min(block_row + a_m + i * kRowsA, M - 1), k0 + a_k, K);
    }
    from_B = B + offset(k0 + b_k, min(block_col + b_n, N - VEC), N);
  }

  // Starts to copy the next tile. The first `zeros` columns of A and rows of B are zeros. Where the
  // compiler sees that there are none, it leaves out the checks.
  __device__ void start(Tiles<BM, BN, BK>& to, int zeros) {
    for (int i = 0; i < BM / kRowsA; ++i) {
      copy_async<1>(&to.A[a_k][a_m + i * kRowsA], from_A[i], zeros > 0 && a_k < zeros);
      from_A[i] += BK;
    }
    for (int i = 0; i < BK; i += kRowsB) {
      copy_async<VEC>(
          &to.B[b_k + i][b_n], from_B + offset(i, 0, cols), zeros > 0 && b_k + i < zeros);
    }
    from_B += offset(BK, 0, cols);
    __pipeline_commit();
  }
};

// Stage 9: async pipeline
// Until now a block copied, waited, multiplied, waited. Now shared memory is a ring of STAGES tiles
// of A and B: while one is multiplied, the STAGES - 1 after it are in flight. One barrier per tile
// is left. It says that a tile is complete, and that all are done with the one before, so that its
// place in the ring is free. The last tiles have a loop of their own, which copies nothing.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) async_pipeline(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM, BN, BK>*>(shared);  // (STAGES)

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  const int tiles = max(1, ceil_div(K, BK));  // if K is 0, one tile of zeros
  const int k0 = K - tiles * BK;              // where the first tile starts: it can be short
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col, k0);

  alignas(16) float sum[TM][TN] = {};
  const auto multiply = [&](const Tiles<BM, BN, BK>& tile) {
    const auto& [As, Bs] = tile;
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) as_float4(a[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
      for (int j = 0; j < TN; j += 4) as_float4(b[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) {
    copies.start(ring[tile], tile == 0 ? -k0 : 0);
  }
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    copies.start(ring[(tile + STAGES - 1) % STAGES], 0);
    multiply(ring[tile % STAGES]);
  }
  for (; tile < tiles; ++tile) {
    __pipeline_wait_prior(0);
    __syncthreads();
    multiply(ring[tile % STAGES]);
  }

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          C, M, N, block_row + row + spread(i, WM / TM), block_col + col + spread(j, WN / TN),
          alpha, as_float4(sum[i][j]), beta);
    }
  }
}

// Stage 10: register pipeline
// The same one level down: the floats of step k + 1 come to registers while those of step k are
// multiplied. The last step of a tile loads from the next one, so no warp waits for shared memory
// after the barrier. And the multiplications go back and forth along the rows, so that neighbours
// share an operand: the register file then reads two operands for each instead of three.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) register_pipeline(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM, BN, BK>*>(shared);  // (STAGES)

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  const int tiles = max(1, ceil_div(K, BK));  // if K is 0, one tile of zeros
  const int k0 = K - tiles * BK;              // where the first tile starts: it can be short
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col, k0);

  alignas(16) float sum[TM][TN] = {};
  alignas(16) float a[2][TM], b[2][TN];  // one is multiplied while the other is loaded
  const auto load = [&](const Tiles<BM, BN, BK>& tile, int k) {
    const auto& [As, Bs] = tile;
    float *const a_k = a[k % 2], *const b_k = b[k % 2];
    for (int j = 0; j < TN; j += 4) as_float4(b_k[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
    for (int i = 0; i < TM; i += 4) as_float4(a_k[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES], 0);
      if (k + 1 < BK) {
        load(ring[tile % STAGES], k + 1);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(ring[(tile + 1) % STAGES], 0);
      }
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          const int turn = i % 2 == 0 ? j : TN - 1 - j;
          sum[i][turn] += a[k % 2][i] * b[k % 2][turn];
        }
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) {
    copies.start(ring[tile], tile == 0 ? -k0 : 0);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  load(ring[0], 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          C, M, N, block_row + row + spread(i, WM / TM), block_col + col + spread(j, WN / TN),
          alpha, as_float4(sum[i][j]), beta);
    }
  }
}

// How stage 11 shares out its work: the first `whole` tiles of C have a block each. Each of the
// others is cut along K into `parts` parts of `depth` K tiles, except that the last part may be
// shorter, and each part has a block.
struct Shares {
  int whole, parts, depth;
  float* sums;        // of the parts, until they are added up
  unsigned* arrived;  // how many parts of each cut tile are done; 0 before and after
};

// Where a tile of C begins. The tiles are numbered down a column of 8, then down the next: blocks
// that run together share rows and columns.
struct Corner {
  int row, col;
};
template <int BM, int BN>
__device__ inline Corner corner_of(int number, int M, int N) {
  constexpr int kHeight = 8;
  const int rows = ceil_div(M, BM), cols = ceil_div(N, BN);
  const int first_row = number / (kHeight * cols) * kHeight;
  const int height = min(kHeight, rows - first_row), in_band = number - first_row * cols;
  return {(first_row + in_band % height) * BM, in_band / height * BN};
}

// The work of one block: K tiles of C's tile (BM, BN) at (row, col), the first at k0.
struct Work {
  int row, col;
  int tiles, k0;
  bool is_part;
  int cut_tile, part;
};

template <int BM, int BN, int BK>
__device__ inline Work work_of(int block, int M, int N, int K, const Shares& shares) {
  const int rows = ceil_div(M, BM), cols = ceil_div(N, BN), all = max(1, ceil_div(K, BK));
  int number = block, cut_tile = 0, part = 0, begin = 0, tiles = all;
  if (block >= shares.whole) {
    const int cut_tiles = rows * cols - shares.whole;
    cut_tile = (block - shares.whole) % cut_tiles;
    part = (block - shares.whole) / cut_tiles;
    number = shares.whole + cut_tile;
    begin = part * shares.depth;
    tiles = min(shares.depth, all - begin);
  }
  const Corner corner = corner_of<BM, BN>(number, M, N);
  return {corner.row, corner.col, tiles, K - (all - begin) * BK, block >= shares.whole,
          cut_tile,   part};
}

// Where a block's results go: to C, or, if they are sums of a part, to a matrix of their own.
struct Target {
  float* C;
  int M, N, row, col;
  float alpha, beta;
};

template <int BM, int BN>
__device__ inline Target target_of(const Work& work, const Shares& shares) {
  const long long part = static_cast<long long>(work.cut_tile) * shares.parts + work.part;
  return {shares.sums + part * BM * BN, BM, BN, 0, 0, 1.0f, 0.0f};
}

// The last block to arrive at a cut tile adds up its parts, always in the order of K, so that the
// bits of C do not depend on who is last. Nobody waits.
template <int BM, int BN, int kThreads, int VEC>
__device__ inline void add_up_parts(const Work& work, const Shares& shares, const Target& to) {
  __shared__ unsigned before;
  const unsigned last = shares.parts - 1;
  __threadfence();  // the sums are visible before the arrival is
  __syncthreads();
  // Counts up to `last`, and from there to 0 again, for the next launch.
  if (threadIdx.x == 0) before = atomicInc(&shares.arrived[work.cut_tile], last);
  __syncthreads();
  if (before < last) return;
  __threadfence();  // and the others' sums are not read before they are visible

  const float* const sums =
      shares.sums + static_cast<long long>(work.cut_tile) * shares.parts * BM * BN;
  constexpr int kAtOnce = 8;  // loads that do not wait for each other
  for (int first = 4 * threadIdx.x; first < BM * BN; first += 4 * kThreads * kAtOnce) {
    float4 sum[kAtOnce] = {};
    for (int part = 0; part < shares.parts; ++part) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const float4 more = __ldcg(&as_float4(sums[part * BM * BN + first + 4 * kThreads * i]));
        sum[i].x += more.x;
        sum[i].y += more.y;
        sum[i].z += more.z;
        sum[i].w += more.w;
      }
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int at = first + 4 * kThreads * i;
      update4_if_inside<VEC>(
          to.C, to.M, to.N, to.row + at / BN, to.col + at % BN, to.alpha, sum[i], to.beta);
    }
  }
}

// Stage 11: balanced
// The blocks of a launch run in waves, as many at a time as fit on the GPU. If few are left for the
// last wave, most SMs idle. So the tiles of the last wave are cut along K, and the idle SMs take
// the parts. The last block to arrive at a cut tile adds up its parts. No block waits for another.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) balanced(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
    Shares shares) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM, BN, BK>*>(shared);  // (STAGES)

  const Work work = work_of<BM, BN, BK>(blockIdx.x, M, N, K, shares);
  const int block_row = work.row, block_col = work.col;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  const int tiles = work.tiles;
  const int k0 = work.k0;  // where the first tile starts: it can be short
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col, k0);

  alignas(16) float sum[TM][TN] = {};
  alignas(16) float a[2][TM], b[2][TN];  // one is multiplied while the other is loaded
  const auto load = [&](const Tiles<BM, BN, BK>& tile, int k) {
    const auto& [As, Bs] = tile;
    float *const a_k = a[k % 2], *const b_k = b[k % 2];
    for (int j = 0; j < TN; j += 4) as_float4(b_k[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
    for (int i = 0; i < TM; i += 4) as_float4(a_k[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES], 0);
      if (k + 1 < BK) {
        load(ring[tile % STAGES], k + 1);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(ring[(tile + 1) % STAGES], 0);
      }
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          const int turn = i % 2 == 0 ? j : TN - 1 - j;
          sum[i][turn] += a[k % 2][i] * b[k % 2][turn];
        }
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) {
    copies.start(ring[tile], tile == 0 ? -k0 : 0);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  load(ring[0], 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

  const Target c = {C, M, N, block_row, block_col, alpha, beta};
  const Target to = work.is_part ? target_of<BM, BN>(work, shares) : c;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          to.C, to.M, to.N, to.row + row + spread(i, WM / TM), to.col + col + spread(j, WN / TN),
          to.alpha, as_float4(sum[i][j]), to.beta);
    }
  }
  if (work.is_part) add_up_parts<BM, BN, kThreads, VEC>(work, shares, c);
}

// From stage 12 on, rows of A stay rows, and both tiles are copied in chunks of 16 bytes. All rows
// of a tile start in the same bank, and a warp reads the same columns of several rows at once. So
// the chunks of a row change places: chunk c of A's row m lies at c ^ m % 8, and chunk c of B's row
// k at c ^ k % 4. `swizzled` returns where the float of a column lies in a row with that key.
template <int BM, int BN, int BK>
struct SwizzledTiles {
  float A[BM][BK];
  float B[BK][BN];
};
__device__ constexpr int swizzled(int col, int key) {
  return col ^ 4 * key;
}

// One thread's part of all copies of a block, as in Copies: rows of A and of B, VEC floats each.
template <int BM, int BN, int BK, int kThreads, int VEC>
struct SwizzledCopies {
  static constexpr int kRowsA = VEC * kThreads / BK, kRowsB = VEC * kThreads / BN;  // at a time
  int M, N, K, a_row, a_m, a_k, b_k, b_n;
  const float *from_A, *from_B;

  __device__ SwizzledCopies(
      const float* A, const float* B, int rows, int cols, int depth, int block_row, int block_col,
      int k0)
      : M(rows), N(cols), K(depth) {
    const int thread = threadIdx.x;
    a_m = VEC * thread / BK, a_k = VEC * thread % BK;
    b_k = VEC * thread / BN, b_n = VEC * thread % BN;
    a_row = block_row + a_m;
    from_A = A + k0 + a_k;
    from_B = B + offset(k0 + b_k, min(block_col + b_n, N - VEC), N);
  }

  __device__ void start(SwizzledTiles<BM, BN, BK>& to, int zeros) {
#pragma unroll(2 * VEC)
    for (int i = 0; i < BM; i += kRowsA) {
      copy_async<VEC>(
          &to.A[a_m + i][swizzled(a_k, (a_m + i) % 8)],
          from_A + offset(min(a_row + i, M - 1), 0, K), zeros > 0 && a_k < zeros);
    }
    from_A += BK;
#pragma unroll(2 * VEC)
    for (int i = 0; i < BK; i += kRowsB) {
      copy_async<VEC>(
          &to.B[b_k + i][swizzled(b_n, (b_k + i) % 4)], from_B + offset(i, 0, N),
          zeros > 0 && b_k + i < zeros);
    }
    from_B += offset(BK, 0, N);
    __pipeline_commit();
  }
};

// Rounds to the nearest tf32. The tensor core ignores the last 13 bits, so this adds half of the
// last bit that stays: one instruction on sm_90. Its maximum keeps 0x7fffffff, the NaN that a GPU
// writes, from becoming -0. Most other NaNs stay NaNs. But those from 0xfffff000 on become 0, and
// those that differ from infinity only in the last 13 bits become infinity. cvt.rna.tf32 has no
// such exceptions, but it takes three instructions.
__device__ inline unsigned rounded_to_tf32(float x) {
  const int bits = __float_as_int(x);
  return __viaddmax_s32(bits, 0x1000, bits);
}

// sum += a * b for one warp and 8 columns of A and rows of B, rounded to tf32 first: the tensor
// core would cut them off. Column 4 n + x of 32 columns of B is column n of the x-th
// multiplication.
template <int WM, int WN>
__device__ inline void multiply_fragments(
    float (&sum)[WM / 16][WN / 8][4], const unsigned (&a)[WM / 16][4],
    const float4 (&b)[WN / 32][2]) {
  unsigned a_tf32[WM / 16][4], b_tf32[WN / 8][2];
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
    for (int x = 0; x < 4; ++x) a_tf32[i][x] = rounded_to_tf32(__uint_as_float(a[i][x]));
  }
#pragma unroll
  for (int j = 0; j < WN / 32; ++j) {
#pragma unroll
    for (int x = 0; x < 2; ++x) {
      b_tf32[4 * j][x] = rounded_to_tf32(b[j][x].x);
      b_tf32[4 * j + 1][x] = rounded_to_tf32(b[j][x].y);
      b_tf32[4 * j + 2][x] = rounded_to_tf32(b[j][x].z);
      b_tf32[4 * j + 3][x] = rounded_to_tf32(b[j][x].w);
    }
  }
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 8; ++j) mma_m16n8k8_tf32(sum[i][j], a_tf32[i], b_tf32[j]);
  }
}

// Stage 12: tensor cores
// One instruction of a warp multiplies 16 x 8 elements of A by 8 x 8 of B: 1024 products, where an
// FFMA makes 32. The elements are tf32, floats with 10 bits after the point; the sums are fp32. The
// lanes hold the matrices together, a few elements each. ldmatrix hands out words of 16-byte rows
// just as A's must be spread. B's would have to be transposed. But its columns may be computed in
// any order: a lane loads four neighbours, which belong to four different multiplications.
template <int BM, int BN, int BK, int WM, int WN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / WM) * (BN / WN) * 32, 1) tensor_cores(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
    Shares shares) {
  constexpr int kThreads = (BM / WM) * (BN / WN) * 32;
  extern __shared__ float4 shared[];
  const auto ring = reinterpret_cast<SwizzledTiles<BM, BN, BK>*>(shared);  // (STAGES)

  const Work work = work_of<BM, BN, BK>(blockIdx.x, M, N, K, shares);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / (BN / WN) * WM;  // in C's tile (BM, BN), this warp's tile (WM, WN)
  const int warp_col = warp % (BN / WN) * WN;

  // Copy: chunks of A and B to the ring.
  const int tiles = work.tiles;
  SwizzledCopies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, work.row, work.col, work.k0);

  // Fragments: 8 columns of A and 8 rows of B in each step. This is where in a tile the lane's
  // first words are. The next 8 columns of A are at `a_col` XOR 8, 16 and 24.
  const int a_row = warp_row + lane % 16, a_col = swizzled(lane / 16 * 4, lane % 8);
  const int b_row = lane % 4, b_col = warp_col + swizzled(lane / 8 * 4 + lane / 4 % 2 * 16, b_row);
  unsigned a[2][WM / 16][4];  // one is multiplied while the other is loaded
  float4 b[2][WN / 32][2];
  const auto load = [&](const SwizzledTiles<BM, BN, BK>& tile, int k) {
    const auto& [As, Bs] = tile;
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) ldmatrix_x4(a[k / 8 % 2][i], &As[a_row + 16 * i][a_col ^ k]);
#pragma unroll
    for (int j = 0; j < WN / 32; ++j) {
      b[k / 8 % 2][j][0] = as_float4(Bs[k + b_row][b_col + 32 * j]);
      b[k / 8 % 2][j][1] = as_float4(Bs[k + b_row + 4][b_col + 32 * j]);
    }
  };

  // Multiply: the fragments of one step, while those of the next are loaded.
  float sum[WM / 16][WN / 8][4] = {};
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES], 0);
      if (k + 8 < BK) {
        load(ring[tile % STAGES], k + 8);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(ring[(tile + 1) % STAGES], 0);
      }
      multiply_fragments<WM, WN>(sum, a[k / 8 % 2], b[k / 8 % 2]);
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) {
    copies.start(ring[tile], tile == 0 ? -work.k0 : 0);
  }
  __pipeline_wait_prior(0);
  __syncthreads();
  load(ring[0], 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

  // Epilogue: d = 1 and 3 are 16 columns to the right of d = 0 and 2, and 2 and 3 are 8 rows down.
  const int row = work.row + warp_row + lane / 4, col = work.col + warp_col + lane % 4 * 4;
#pragma unroll
  for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
    for (int j = 0; j < WN / 32; ++j) {
#pragma unroll
      for (int d = 0; d < 4; ++d) {
        const auto part = [&](int x) { return sum[i][4 * j + x][d]; };
        update4_if_inside<VEC>(
            C, M, N, row + 16 * i + d / 2 * 8, col + 32 * j + d % 2 * 16, alpha,
            float4{part(0), part(1), part(2), part(3)}, beta);
      }
    }
  }
}

// Two neighbours in a row, as one 8-byte access.
__device__ inline float2& as_float2(float& first) {
  return reinterpret_cast<float2&>(first);
}
__device__ inline const float2& as_float2(const float& first) {
  return reinterpret_cast<const float2&>(first);
}

__device__ inline void update2(float2& c, float alpha, float2 sum, float beta) {
  float2 result = {alpha * sum.x, alpha * sum.y};
  if (beta != 0.0f) {
    const float2 old = c;
    result.x += beta * old.x;
    result.y += beta * old.y;
  }
  c = result;
}

// Instead of A and B, stages 13 and 14 see what the copy engine (TMA) needs to copy boxes of them.
// The engine fills a box with zeros where it reaches beyond the matrix. It swizzles a row of at
// most 128 bytes as above, with the key row % 8, so B's tile is made of boxes that are 32 columns
// wide.
struct Maps {
  CUtensorMap A, B;
};
template <class T>
constexpr int kBoxColumns = 128 / sizeof(T);
template <int BM, int BN, int BK, class T = float>
struct Boxes {
  T A[BM][BK];
  T B[BN / kBoxColumns<T>][BK][kBoxColumns<T>];
};

// The ring, and for each of its places two barriers.
template <int BM, int BN, int BK, int STAGES, class T = float>
struct Ring {
  Boxes<BM, BN, BK, T> boxes[STAGES];
  std::uint64_t full[STAGES], empty[STAGES];
};

// Swizzled boxes begin at multiples of 1024 bytes. (An `extern __shared__` array with that
// alignment would give it to every kernel of this file.)
constexpr int kAlignment = 1024;
template <class T>
__device__ inline T& first_aligned(float4* shared) {
  const auto bytes_before = -reinterpret_cast<std::uintptr_t>(shared) % kAlignment;
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(shared) + bytes_before);
}

// Begins the copies of one tile of A and B. `arrived` counts them, byte by byte.
template <int BM, int BN, int BK, class T>
__device__ inline void copy_async(
    Boxes<BM, BN, BK, T>& to, const Maps& maps, int row, int col, int k, std::uint64_t* arrived) {
  mbarrier_arrive_expect_tx(arrived, sizeof to);
  cp_async_bulk_tensor_2d(to.A, &maps.A, k, row, arrived);
  for (int j = 0; j < BN / kBoxColumns<T>; ++j) {
    cp_async_bulk_tensor_2d(to.B[j], &maps.B, col + kBoxColumns<T> * j, k, arrived);
  }
}

// A thread must do this before any other uses the barriers, and a barrier of the block follows.
template <int STAGES>
__device__ inline void initialize(std::uint64_t (&barriers)[STAGES], int arrivals) {
  for (std::uint64_t& barrier : barriers) mbarrier_init(&barrier, arrivals);
  fence_mbarrier_init();
}

// The current place in the ring. A barrier goes through phases 0, 1, 2, ... and a wait names the
// last bit of the phase that must be complete: the bit changes each time the ring comes round.
template <int STAGES>
struct Turn {
  int stage = 0;
  unsigned phase = 0;
  __device__ void next() {
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
};

// Stage 13: Hopper
// The warps divide the work: one thread has the copy engine fill the ring, and two warpgroups of
// four warps multiply. `full` says that a tile has arrived, `empty` that it is not needed any more.
// wgmma takes one operand from shared memory if K is contiguous there, as in A's tile. So it
// computes C^T = B^T A^T, with B^T in registers. A block stays on its SM and takes one tile after
// the other: the copies for the next begin before the last is stored.
template <int BM, int BN, int BK, int STAGES>
__global__ void __launch_bounds__((BN / 64 + 1) * 128, 1) hopper(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  extern __shared__ float4 shared[];
  auto& [ring, full, empty] = first_aligned<Ring<BM, BN, BK, STAGES>>(shared);
  if (threadIdx.x == 0) {
    initialize(full, 1);
    initialize(empty, BN / 64);
  }
  __syncthreads();
  const int tiles = ceil_div(M, BM) * ceil_div(N, BN), k_tiles = ceil_div(K, BK);
  Turn<STAGES> turn;

  // Copy: boxes of A and B to the ring. The registers that this warpgroup gives back go to the
  // others.
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    if (threadIdx.x > 0) return;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const auto [row, col] = corner_of<BM, BN>(tile, M, N);
      for (int k = 0; k < k_tiles; ++k, turn.next()) {
        mbarrier_wait(&empty[turn.stage], turn.phase ^ 1);  // "phase -1" is over from the start
        copy_async(ring[turn.stage], maps, row, col, k * BK, &full[turn.stage]);
      }
    }
    return;
  }
  setmaxnreg_inc<232>();

  // Fragments: 16 columns of B for each warp, which are rows of wgmma's first operand. A lane holds
  // the rows lane / 4 and lane / 4 + 8, which may be any columns: here two neighbours, in the chunk
  // in which no other lane's are in the same banks.
  const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  const int b_row = lane % 4;
  const int b_col = warp % 2 * 8 + lane / 16 * 4 + lane / 8 % 2 * 16 + lane / 4 % 2 * 2;
  unsigned b[2][BK / 8][4];  // one tile's are multiplied while the next one's are loaded
  const auto load = [&](unsigned(&to)[BK / 8][4]) {
    mbarrier_wait(&full[turn.stage], turn.phase);
    const auto& Bs = ring[turn.stage].B[warp / 2];
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      const float2 near = as_float2(Bs[k + b_row][swizzled(b_col, b_row)]);
      const float2 far = as_float2(Bs[k + b_row + 4][swizzled(b_col, b_row + 4)]);
      to[k / 8][0] = rounded_to_tf32(near.x);
      to[k / 8][1] = rounded_to_tf32(near.y);
      to[k / 8][2] = rounded_to_tf32(far.x);
      to[k / 8][3] = rounded_to_tf32(far.y);
    }
  };
  const auto release = [&](int stage) {
    if (threadIdx.x % 128 == 0) mbarrier_arrive(&empty[stage]);
  };

  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    // Multiply: the tensor cores work on one tile of K while the warps load the fragments of the
    // next. When only one group of wgmma is under way, the tile before is not read any more.
    float sum[BM / 2] = {};
    int before = 0;
    const auto multiply = [&](int k_tile, const unsigned(&now)[BK / 8][4],
                              unsigned(&next)[BK / 8][4], bool more) {
      const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(ring[turn.stage].A);
      wgmma_fence();
      // 64 columns of B and 8 of K from registers, times 8 of K and BM rows of A, where the
      // descriptor says. It counts 16 bytes as 1.
#pragma unroll
      for (int k = 0; k < BK; k += 8) wgmma_m64nNk8_tf32(sum, now[k / 8], a + k * 4 / 16);
      wgmma_commit_group();
      wgmma_wait_group<1>();
      if (k_tile > 0) release(before);
      before = turn.stage;
      turn.next();
      if (more) load(next);
    };
    if (k_tiles > 0) load(b[0]);
    int k_tile = 0;
    for (; k_tile + 2 < k_tiles; k_tile += 2) {
      multiply(k_tile, b[0], b[1], true);
      multiply(k_tile + 1, b[1], b[0], true);
    }
    if (k_tile < k_tiles) multiply(k_tile, b[0], b[1], k_tile + 1 < k_tiles);
    if (k_tile + 1 < k_tiles) multiply(k_tile + 1, b[1], b[0], false);
    wgmma_wait_group<0>();
    wgmma_fence_operand(sum);
    if (k_tiles > 0) release(before);

    // Epilogue: sum[i] and sum[i + 2] are neighbours in a row of C, sum[i + 1] is one row down and
    // sum[i + 4] eight. The rows are even, so both neighbours are inside or both are outside.
    const auto [block_row, block_col] = corner_of<BM, BN>(tile, M, N);
    const int row = block_row + lane % 4 * 2, col = block_col + warp / 2 * 32 + b_col;
    float* const c = &C[offset(row, col, N)];
#pragma unroll
    for (int i = 0; i < BM / 2; i += 4) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int down = 2 * i + x;
        if (row + down >= M || col >= N) continue;
        const float2 pair = {sum[i + x], sum[i + x + 2]};
        update2(as_float2(c[offset(down, 0, N)]), alpha, pair, beta);
      }
    }
  }
}

// Two neighbours in a row. VEC is 2 if every row is 8-byte aligned and has an even number of
// floats.
template <int VEC>
__device__ inline void update2_if_inside(
    float* C, int M, int N, int row, int col, float alpha, float2 sum, float beta) {
  if constexpr (VEC == 2) {
    if (row < M && col < N) update2(as_float2(C[offset(row, col, N)]), alpha, sum, beta);
  } else {
    update_if_inside(C, M, N, row, col, alpha, sum.x, beta);
    update_if_inside(C, M, N, row, col + 1, alpha, sum.y, beta);
  }
}

// Variant bf16-128x256x64 of stage 13: the same with bf16
// A bf16 is the upper half of a float. So a row of a box has twice as many, and an instruction
// multiplies twice as many in the same time. And of 16-bit elements, wgmma takes both operands from
// shared memory as they lie there, B with k from row to row ("transposed"). No thread loads
// fragments, and C need not be computed as C^T. A and B have been rounded to bf16 before.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 64 + 1) * 128, 1) hopper_bf16(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  extern __shared__ float4 shared[];
  auto& [ring, full, empty] = first_aligned<Ring<BM, BN, BK, STAGES, __nv_bfloat16>>(shared);
  if (threadIdx.x == 0) {
    initialize(full, 1);
    initialize(empty, BM / 64);
  }
  __syncthreads();
  const int tiles = ceil_div(M, BM) * ceil_div(N, BN), k_tiles = ceil_div(K, BK);
  Turn<STAGES> turn;

  // Copy: boxes of A and B to the ring. The registers that this warpgroup gives back go to the
  // others.
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    if (threadIdx.x > 0) return;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const auto [row, col] = corner_of<BM, BN>(tile, M, N);
      for (int k = 0; k < k_tiles; ++k, turn.next()) {
        mbarrier_wait(&empty[turn.stage], turn.phase ^ 1);  // "phase -1" is over from the start
        copy_async(ring[turn.stage], maps, row, col, k * BK, &full[turn.stage]);
      }
    }
    return;
  }
  setmaxnreg_inc<232>();

  const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  const auto release = [&](int stage) {
    if (threadIdx.x % 128 == 0) mbarrier_arrive(&empty[stage]);
  };

  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    // Multiply: each warpgroup has 64 rows of A, and both have all columns of B.
    float sum[BN / 2] = {};
    int before = 0;
    for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
      mbarrier_wait(&full[turn.stage], turn.phase);
      const auto& [As, Bs] = ring[turn.stage];
      const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(As[warp / 4 * 64]);
      const std::uint64_t b = wgmma_descriptor_of_transposed_boxes(Bs);
      wgmma_fence();
      // 64 rows of A and 16 of K, times 16 of K and BN columns of B: in A's tile the next 16 are 32
      // bytes further in each row, in B's they are the next 16 rows.
#pragma unroll
      for (int k = 0; k < BK; k += 16) {
        wgmma_m64nNk16_bf16(sum, a + k * 2 / 16, b + k * 128 / 16);
      }
      wgmma_commit_group();
      wgmma_wait_group<1>();
      if (k_tile > 0) release(before);
      before = turn.stage;
      turn.next();
    }
    wgmma_wait_group<0>();
    wgmma_fence_operand(sum);
    if (k_tiles > 0) release(before);

    // Epilogue: sum[i] and sum[i + 1] are neighbours in a row of C, sum[i + 2] is eight rows down
    // and sum[i + 4] eight columns to the right.
    const auto [block_row, block_col] = corner_of<BM, BN>(tile, M, N);
    const int row = block_row + warp * 16 + lane / 4, col = block_col + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < BN / 2; i += 4) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const float2 pair = {sum[i + 2 * x], sum[i + 2 * x + 1]};
        update2_if_inside<VEC>(C, M, N, row + 8 * x, col + 2 * i, alpha, pair, beta);
      }
    }
  }
}

// What the tensor core ignores of x, as a tf32 number: x = high + low, where the tensor core sees
// `high` in the bits of x itself. An infinity has no low part: it gives a NaN.
__device__ inline unsigned low_part(float x) {
  const float high = __uint_as_float(__float_as_uint(x) & 0xffffe000);
  return rounded_to_tf32(x - high);
}

// The ring of stage 14: each place also has the low parts of A, and a third barrier for them.
template <int BM, int BN, int BK>
struct SplitBoxes {
  Boxes<BM, BN, BK> whole;
  float A_low[BM][BK];
};
template <int BM, int BN, int BK, int STAGES>
struct SplitRing {
  SplitBoxes<BM, BN, BK> boxes[STAGES];
  std::uint64_t full[STAGES], split[STAGES], empty[STAGES];
};

// The low parts of a tile of A, by THREADS threads that are numbered from 0. Each stands where its
// element stands in A's tile, so they are swizzled in the same way. The tensor cores wait for this,
// so the loop is unrolled, and each thread loads two float4 before it stores.
template <int THREADS, int BM, int BN, int BK>
__device__ inline void split(SplitBoxes<BM, BN, BK>& tile, int thread) {
  const float4* const whole = &as_float4(tile.whole.A[0][0]);
  float4* const low = &as_float4(tile.A_low[0][0]);
  constexpr int kFloat4s = BM * BK / 4;
#pragma unroll
  for (int i = 0; i < kFloat4s; i += 2 * THREADS) {
    float4 a[2];
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int at = i + j * THREADS + thread;
      if (at < kFloat4s) a[j] = whole[at];
    }
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int at = i + j * THREADS + thread;
      if (at >= kFloat4s) continue;
      low[at] = {
          __uint_as_float(low_part(a[j].x)), __uint_as_float(low_part(a[j].y)),
          __uint_as_float(low_part(a[j].z)), __uint_as_float(low_part(a[j].w))};
    }
  }
}

// Stage 14: fp32 from tensor cores
// An fp32 number has 24 bits, and a tf32 number 11. Two of them hold nearly all of a float, and
// three products nearly all of a product: (a + a_low) * (b + b_low) without the smallest. Three
// warps make the low parts of A, and each thread those of its fragments of B. The tensor cores cut
// off where an FFMA rounds, so a long sum would lose too much. Here they add only the products of
// one K tile, the smallest first, and FADDs add these sums.
template <int BM, int BN, int BK, int STAGES>
__global__ void __launch_bounds__((BN / 64 + 1) * 128, 1) split_fp32(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  extern __shared__ float4 shared[];
  auto& [ring, full, split_up, empty] = first_aligned<SplitRing<BM, BN, BK, STAGES>>(shared);
  constexpr int kSplitters = 96;
  if (threadIdx.x == 0) {
    initialize(full, 1);
    initialize(split_up, kSplitters / 32);
    initialize(empty, BN / 64);
  }
  __syncthreads();
  const int tiles = ceil_div(M, BM) * ceil_div(N, BN), k_tiles = ceil_div(K, BK);
  Turn<STAGES> turn;

  // Copy: boxes of A and B to the ring. Three warps split A when it has arrived.
  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();
    const int splitter = static_cast<int>(threadIdx.x) - 32;
    if (threadIdx.x > 0 && splitter < 0) return;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      const auto [row, col] = corner_of<BM, BN>(tile, M, N);
      for (int k = 0; k < k_tiles; ++k, turn.next()) {
        if (threadIdx.x == 0) {
          mbarrier_wait(&empty[turn.stage], turn.phase ^ 1);
          copy_async(ring[turn.stage].whole, maps, row, col, k * BK, &full[turn.stage]);
        } else {
          mbarrier_wait(&full[turn.stage], turn.phase);
          split<kSplitters>(ring[turn.stage], splitter);
          fence_proxy_async();  // the tensor cores read what these threads have stored
          __syncwarp();
          if (splitter % 32 == 0) mbarrier_arrive(&split_up[turn.stage]);
        }
      }
    }
    return;
  }
  setmaxnreg_inc<232>();

  // Fragments: as before, and their low parts.
  const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
  const int b_row = lane % 4;
  const int b_col = warp % 2 * 8 + lane / 16 * 4 + lane / 8 % 2 * 16 + lane / 4 % 2 * 2;
  struct Fragments {
    unsigned b[BK / 8][4], b_low[BK / 8][4];
  } fragments[2];
  const auto load = [&](Fragments& to) {
    mbarrier_wait(&full[turn.stage], turn.phase);
    mbarrier_wait(&split_up[turn.stage], turn.phase);
    const auto& Bs = ring[turn.stage].whole.B[warp / 2];
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      const float2 near = as_float2(Bs[k + b_row][swizzled(b_col, b_row)]);
      const float2 far = as_float2(Bs[k + b_row + 4][swizzled(b_col, b_row + 4)]);
      const float four[] = {near.x, near.y, far.x, far.y};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        to.b[k / 8][i] = __float_as_uint(four[i]);
        to.b_low[k / 8][i] = low_part(four[i]);
      }
    }
  };
  const auto release = [&](int stage) {
    if (threadIdx.x % 128 == 0) mbarrier_arrive(&empty[stage]);
  };

  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    // Multiply: while the tensor cores work on one warpgroup's K tile, the other one adds up.
    float sum[BM / 2] = {}, part[BM / 2] = {};
    const auto multiply = [&](const Fragments& now, Fragments& next, bool more) {
      const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(ring[turn.stage].whole.A);
      const std::uint64_t a_low = wgmma_descriptor_of_swizzled_tile(ring[turn.stage].A_low);
      const int stage = turn.stage;
      wgmma_fence();
#pragma unroll
      for (int k = 0; k < BK; k += 8) {
        wgmma_m64nNk8_tf32(part, now.b[k / 8], a_low + k * 4 / 16, k > 0);  // the first: part = ...
      }
#pragma unroll
      for (int k = 0; k < BK; k += 8) wgmma_m64nNk8_tf32(part, now.b_low[k / 8], a + k * 4 / 16);
#pragma unroll
      for (int k = 0; k < BK; k += 8) wgmma_m64nNk8_tf32(part, now.b[k / 8], a + k * 4 / 16);
      wgmma_commit_group();
      turn.next();
      if (more) load(next);
      wgmma_wait_group<0>();
      wgmma_fence_operand(part);
      release(stage);
#pragma unroll
      for (int i = 0; i < BM / 2; ++i) sum[i] += part[i];
    };
    if (k_tiles > 0) load(fragments[0]);
    int k_tile = 0;
    for (; k_tile + 2 < k_tiles; k_tile += 2) {
      multiply(fragments[0], fragments[1], true);
      multiply(fragments[1], fragments[0], true);
    }
    if (k_tile < k_tiles) multiply(fragments[0], fragments[1], k_tile + 1 < k_tiles);
    if (k_tile + 1 < k_tiles) multiply(fragments[1], fragments[0], false);

    // Epilogue: as before.
    const auto [block_row, block_col] = corner_of<BM, BN>(tile, M, N);
    const int row = block_row + lane % 4 * 2, col = block_col + warp / 2 * 32 + b_col;
    float* const c = &C[offset(row, col, N)];
#pragma unroll
    for (int i = 0; i < BM / 2; i += 4) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int down = 2 * i + x;
        if (row + down >= M || col >= N) continue;
        const float2 pair = {sum[i + x], sum[i + x + 2]};
        update2(as_float2(c[offset(down, 0, N)]), alpha, pair, beta);
      }
    }
  }
}

// The ladder as data. Each *_variant function names a kernel's tile sizes once and checks them.

// A kernel and its name, which the compiler writes: "const char* ... [with auto kernel = NAME]".
template <auto kernel>
model::KernelRef ref() {
  static const std::string name = [](std::string_view pretty) {
    const std::size_t begin = pretty.find("kernel = ") + 9;
    return std::string(pretty.substr(begin, pretty.find_first_of(";]", begin) - begin));
  }(__PRETTY_FUNCTION__);
  // Through a pointer without parameters, since from stage 11 on kernels have other parameters.
  return {reinterpret_cast<model::Kernel*>(reinterpret_cast<void (*)()>(kernel)), name.c_str()};
}

model::Variant variant(
    const char* name, int BM, int BN, int BK, int WM, int WN, int TM, int TN, int block_x,
    int block_y, model::KernelRef kernel, model::KernelRef kernel_any) {
  return {name, BM, BN, BK, WM, WN, TM, TN, 0, block_x, block_y, 0, kernel, kernel_any};
}

// A variant that runs without being named where C is too small for the first one's tile.
model::Variant for_small(model::Variant variant) {
  variant.for_small = true;
  return variant;
}

// Whether the threads copy a tile of rows x cols in whole rows, each `vec` neighbours at a time.
constexpr bool copies_whole_rows(int threads, int vec, int rows, int cols) {
  const int floats = threads * vec;
  return floats % cols == 0 && rows % (floats / cols) == 0;
}

template <int BM, int BN>
model::Variant naive_variant(const char* name) {
  constexpr auto kernel = naive<BM, BN>;
  return variant(name, BM, BN, 0, 0, 0, 1, 1, BM, BN, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN>
model::Variant coalesced_variant(const char* name) {
  constexpr auto kernel = coalesced<BM, BN>;
  return variant(name, BM, BN, 0, 0, 0, 1, 1, BN, BM, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN, int BK>
model::Variant shared_memory_tiling_variant(const char* name) {
  static_assert(
      BM == BK && BN == BK,
      "every thread copies one element of either tile, so both must have the block's shape");
  constexpr auto kernel = shared_memory_tiling<BM, BN, BK>;
  return variant(name, BM, BN, BK, 0, 0, 1, 1, BN, BM, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN, int BK, int TM>
model::Variant thread_coarsening_1d_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * BN;
  static_assert(BM % TM == 0, "the tile's rows must divide evenly among the threads");
  static_assert(
      copies_whole_rows(kThreads, 1, BM, BK) && copies_whole_rows(kThreads, 1, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  constexpr auto kernel = thread_coarsening_1d<BM, BN, BK, TM>;
  return variant(name, BM, BN, BK, 0, 0, TM, 1, BN, BM / TM, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN, int BK, int TM, int TN>
model::Variant thread_tiling_2d_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(
      BM % TM == 0 && BN % TN == 0,
      "the tile's rows and columns must divide evenly among the threads");
  static_assert(
      copies_whole_rows(kThreads, 1, BM, BK) && copies_whole_rows(kThreads, 1, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  constexpr auto kernel = thread_tiling_2d<BM, BN, BK, TM, TN>;
  return variant(name, BM, BN, BK, 0, 0, TM, TN, BN / TN, BM / TM, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN, int BK, int TM, int TN>
model::Variant vectorized_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(
      BM % TM == 0 && BN % TN == 0,
      "the tile's rows and columns must divide evenly among the threads");
  static_assert(
      copies_whole_rows(kThreads, 4, BM, BK) && copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 4 == 0, "a float4 holds four neighbours");
  return variant(
      name, BM, BN, BK, 0, 0, TM, TN, BN / TN, BM / TM, ref<vectorized<BM, BN, BK, TM, TN, 4>>(),
      ref<vectorized<BM, BN, BK, TM, TN, 1>>());
}

template <int BM, int BN, int BK, int TM, int TN>
model::Variant conflict_free_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(
      BM % TM == 0 && BN % TN == 0,
      "the tile's rows and columns must divide evenly among the threads");
  static_assert(
      copies_whole_rows(kThreads, 4, BM, BK) && copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "a float4 holds four neighbours");
  static_assert(BK == 8 && BM % 32 == 0, "the padding of As keeps the banks of 8 rows apart");
  return variant(
      name, BM, BN, BK, 0, 0, TM, TN, BN / TN, BM / TM, ref<conflict_free<BM, BN, BK, TM, TN, 4>>(),
      ref<conflict_free<BM, BN, BK, TM, TN, 1>>());
}

template <int BM, int BN, int BK, int WM, int WN, int TM, int TN>
model::Variant warp_tiling_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(BM % WM == 0 && BN % WN == 0, "the tile must divide evenly among the warps");
  static_assert((WM / TM) * (WN / TN) == 32, "a warp has 32 lanes, each with TM x TN results");
  static_assert(
      copies_whole_rows(kThreads, 4, BM, BK) && copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "a float4 holds four neighbours");
  static_assert(BK == 8 && BM % 32 == 0, "the padding of As keeps the banks of 8 rows apart");
  return variant(
      name, BM, BN, BK, WM, WN, TM, TN, kThreads, 1,
      ref<warp_tiling<BM, BN, BK, WM, WN, TM, TN, 4>>(),
      ref<warp_tiling<BM, BN, BK, WM, WN, TM, TN, 1>>());
}

// Stages 9 to 11, whose launches differ only in the kernel.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES>
model::Variant ring_variant(
    const char* name, model::KernelRef kernel, model::KernelRef kernel_any) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(BM % WM == 0 && BN % WN == 0, "the tile must divide evenly among the warps");
  static_assert((WM / TM) * (WN / TN) == 32, "a warp has 32 lanes, each with TM x TN results");
  static_assert(
      copies_whole_rows(kThreads, 1, BM, BK) && copies_whole_rows(kThreads, 1, BK, BN) &&
          copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "a float4 holds four neighbours");
  static_assert(BK == 8 && BM % 32 == 0, "the padding of As keeps the banks of 8 rows apart");
  static_assert(STAGES >= 2, "one tile is multiplied while at least one other is in flight");
  model::Variant v = variant(name, BM, BN, BK, WM, WN, TM, TN, kThreads, 1, kernel, kernel_any);
  v.pipeline = STAGES - 1;
  v.shared_bytes = STAGES * sizeof(Tiles<BM, BN, BK>);
  return v;
}

template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES>
model::Variant async_pipeline_variant(const char* name) {
  return ring_variant<BM, BN, BK, WM, WN, TM, TN, STAGES>(
      name, ref<async_pipeline<BM, BN, BK, WM, WN, TM, TN, STAGES, 4>>(),
      ref<async_pipeline<BM, BN, BK, WM, WN, TM, TN, STAGES, 1>>());
}

template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES>
model::Variant register_pipeline_variant(const char* name) {
  return ring_variant<BM, BN, BK, WM, WN, TM, TN, STAGES>(
      name, ref<register_pipeline<BM, BN, BK, WM, WN, TM, TN, STAGES, 4>>(),
      ref<register_pipeline<BM, BN, BK, WM, WN, TM, TN, STAGES, 1>>());
}

// With `cuts`, the last wave is shared out; without, only the order of the blocks is new.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES>
model::Variant balanced_variant(const char* name, bool cuts = true) {
  static_assert(TM * TN % 32 == 0, "a thread adds up 8 float4 of a part at a time");
  model::Variant v = ring_variant<BM, BN, BK, WM, WN, TM, TN, STAGES>(
      name, ref<balanced<BM, BN, BK, WM, WN, TM, TN, STAGES, 4>>(),
      ref<balanced<BM, BN, BK, WM, WN, TM, TN, STAGES, 1>>());
  v.sharing = cuts ? model::Sharing::cut : model::Sharing::ordered;
  return v;
}

template <int BM, int BN, int BK, int WM, int WN, int STAGES>
model::Variant tensor_cores_variant(const char* name) {
  constexpr int kThreads = (BM / WM) * (BN / WN) * 32;
  static_assert(BM % WM == 0 && BN % WN == 0, "the tile must divide evenly among the warps");
  static_assert(
      WM % 16 == 0 && WN % 32 == 0, "a warp multiplies 16 rows by four times 8 columns at a time");
  static_assert(
      copies_whole_rows(kThreads, 1, BM, BK) && copies_whole_rows(kThreads, 1, BK, BN) &&
          copies_whole_rows(kThreads, 4, BM, BK) && copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(BK == 32, "the 8 chunks of a row of A take all 32 banks");
  static_assert(STAGES >= 2, "one tile is multiplied while at least one other is in flight");
  model::Variant v = variant(
      name, BM, BN, BK, WM, WN, WM / 8, WN / 4, kThreads, 1,
      ref<tensor_cores<BM, BN, BK, WM, WN, STAGES, 4>>(),
      ref<tensor_cores<BM, BN, BK, WM, WN, STAGES, 1>>());
  v.pipeline = STAGES - 1;
  v.shared_bytes = STAGES * sizeof(SwizzledTiles<BM, BN, BK>);
  v.sharing = model::Sharing::ordered;
  v.multiplier = model::Multiplier::mma_tf32;
  return v;
}

// What a thread of stage 13 does with bf16: a float holds two, and nothing is loaded from shared
// memory. C is stored two floats at a time if vec is 4.
const model::Predicted kBf16Boxes = {
    .gmem_loads = "tiles*max(ceil(K/BK)*(1 + BN/64), TM*TN*3/(2 + vec)*reads_C)",
    .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN)/2, TM*TN*reads_C)",
    .smem_loads = "0",
    .smem_floats = "0",
    .gmem_stores = "tiles*TM*TN*3/(2 + vec)",
    .smem_stores = "tiles*ceil(K/BK)*(1 + BN/64)",
    .async_copies = "tiles*ceil(K/BK)*(1 + BN/64)"};
const model::Contrast kWithBf16 = {
    .name = "Hopper with bf16",
    .idea =
        "Numbers of 16 bits: twice as many in a box, and in an instruction that takes as long. "
        "It reads both A and B from shared memory, as they lie there. They are copies, rounded "
        "before.",
    .precision = model::kBf16,
    .questions = {
        {"How many multiplications does one wgmma.m64n256k16 of bf16 make, and how many did one "
         "m64n256k8 of tf32?",
         "64*256*16", "multiplications",
         "Twice as many, and the tensor cores take no longer: the bytes are the same."},
        {"How many bytes of shared memory does a K tile take, and how many with tf32?",
         "(BM + BN)*BK*2", "bytes",
         "As many as with tf32: the tile is twice as deep, and a number has half the bytes."}}};

// Stages 13 and 14. Where rows are not 16-byte aligned, the copy engine cannot copy them, and the
// kernel of an earlier stage runs.
template <int BM, int BN, int BK, int STAGES>
model::Variant copy_engine_variant(
    const char* name, model::KernelRef kernel, int ring_bytes, const model::Variant& otherwise) {
  static_assert(BM <= 256, "a box has at most 256 rows");
  static_assert(BK == 32, "a row of a box takes all 32 banks");
  static_assert(BN % 64 == 0, "a warpgroup multiplies for 64 columns of C");
  static_assert(STAGES >= 2, "one tile arrives while another is read");
  constexpr int kThreads = (BN / 64 + 1) * 128;
  model::Variant v =
      variant(name, BM, BN, BK, BM, 16, BM / 4, 2, kThreads, 1, kernel, otherwise.kernel_any);
  v.pipeline = STAGES - 1;
  v.shared_bytes = ring_bytes + kAlignment;
  v.sharing = model::Sharing::persistent;
  v.otherwise = &otherwise;
  return v;
}

template <int BM, int BN, int BK, int STAGES>
model::Variant hopper_variant(const char* name, const model::Variant& otherwise) {
  static_assert(STAGES >= 3, "one tile arrives while two are read");
  model::Variant v = copy_engine_variant<BM, BN, BK, STAGES>(
      name, ref<hopper<BM, BN, BK, STAGES>>(), sizeof(Ring<BM, BN, BK, STAGES>), otherwise);
  v.multiplier = model::Multiplier::wgmma_tf32;
  return v;
}

// Its copies of A and B have rows that are 16-byte aligned, whatever those of A and B are.
template <int BM, int BN, int BK, int STAGES>
model::Variant hopper_bf16_variant(const char* name) {
  static_assert(BM % 64 == 0 && BM <= 256, "a warpgroup has 64 rows, and a box at most 256");
  static_assert(BK == 64, "a row of a box takes all 32 banks");
  static_assert(BN % 64 == 0 && BN <= 256, "a wgmma has the columns of whole boxes, at most 256");
  static_assert(STAGES >= 3, "one tile arrives while two are read");
  constexpr int kThreads = (BM / 64 + 1) * 128;
  model::Variant v = variant(
      name, BM, BN, BK, 16, BN, 2, BN / 4, kThreads, 1, ref<hopper_bf16<BM, BN, BK, STAGES, 2>>(),
      ref<hopper_bf16<BM, BN, BK, STAGES, 1>>());
  v.pipeline = STAGES - 1;
  v.shared_bytes = sizeof(Ring<BM, BN, BK, STAGES, __nv_bfloat16>) + kAlignment;
  v.sharing = model::Sharing::persistent;
  v.multiplier = model::Multiplier::wgmma_bf16;
  v.predicted = &kBf16Boxes;
  v.contrast = &kWithBf16;
  return v;
}

template <int BM, int BN, int BK, int STAGES>
model::Variant split_fp32_variant(const char* name, const model::Variant& otherwise) {
  model::Variant v = copy_engine_variant<BM, BN, BK, STAGES>(
      name, ref<split_fp32<BM, BN, BK, STAGES>>(), sizeof(SplitRing<BM, BN, BK, STAGES>),
      otherwise);
  v.multiplier = model::Multiplier::wgmma_3xtf32;
  return v;
}

// What a thread does, as formulas. Stages 3 to 5 share one, and 6 to 8 another: they differ only in
// the tile sizes.
const model::Predicted kUntiled = {
    .gmem_loads = "2*K + reads_C",
    .gmem_floats = "2*K + reads_C",
    .smem_loads = "0",
    .smem_floats = "0",
    .gmem_stores = "1",
    .smem_stores = "0",
    .async_copies = "0"};
const model::Predicted kTiled = {
    .gmem_loads = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
    .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
    .smem_loads = "ceil(K/BK)*BK*(TM + TN)",
    .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
    .gmem_stores = "TM*TN",
    .smem_stores = "ceil(K/BK)*BK*(BM + BN)/threads",
    .async_copies = "0"};
const model::Predicted kFloat4 = {
    .gmem_loads = "(ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C)/vec",
    .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
    .smem_loads = "ceil(K/BK)*BK*(TM + TN)/4",
    .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
    .gmem_stores = "TM*TN/vec",
    .smem_stores = "ceil(K/BK)*BK*(BM + BN/4)/threads",
    .async_copies = "0"};
const model::Predicted kRing = {
    .gmem_loads = "ceil(K/BK)*BK*(BM + BN/vec)/threads + TM*TN*reads_C/vec",
    .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
    .smem_loads = "ceil(K/BK)*BK*(TM + TN)/4",
    .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
    .gmem_stores = "TM*TN/vec",
    .smem_stores = "ceil(K/BK)*BK*(BM + BN/vec)/threads",
    .async_copies = "ceil(K/BK)*BK*(BM + BN/vec)/threads"};
// The same for `depth` K tiles. If all tiles are cut, it is thread 0 of a block that adds up `adds`
// parts: `cuts` is 1 then, for the sums it stores, the counter and `before`.
const model::Predicted kShared = {
    .gmem_loads = "depth*BK*(BM + BN/vec)/threads + adds*TM*TN/4 + TM*TN*reads_C/vec + cuts",
    .gmem_floats = "depth*BK*(BM + BN)/threads + adds*TM*TN + TM*TN*reads_C + cuts",
    .smem_loads = "depth*BK*(TM + TN)/4 + cuts",
    .smem_floats = "depth*BK*(TM + TN) + cuts",
    .gmem_stores = "(1 + cuts)*TM*TN/vec + cuts",
    .smem_stores = "depth*BK*(BM + BN/vec)/threads + cuts",
    .async_copies = "depth*BK*(BM + BN/vec)/threads"};
// A step of 8 along K takes WM/16 ldmatrix and WN/16 float4, four floats each.
const model::Predicted kFragments = {
    .gmem_loads = "(ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C)/vec",
    .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
    .smem_loads = "ceil(K/BK)*BK/8*(WM + WN)/16",
    .smem_floats = "ceil(K/BK)*BK/8*(WM + WN)/4",
    .gmem_stores = "TM*TN/vec",
    .smem_stores = "ceil(K/BK)*BK*(BM + BN)/vec/threads",
    .async_copies = "ceil(K/BK)*BK*(BM + BN)/vec/threads"};
// In each of `tiles` tiles of C, one thread starts all copies, a box of A and BN/32 of B for a K
// tile, and the others load B, two floats at a time.
const model::Predicted kBoxes = {
    .gmem_loads = "tiles*max(ceil(K/BK)*(1 + BN/32), TM*TN/2*reads_C)",
    .gmem_floats = "tiles*max(ceil(K/BK)*BK*(BM + BN), TM*TN*reads_C)",
    .smem_loads = "tiles*ceil(K/BK)*BK/4",
    .smem_floats = "tiles*ceil(K/BK)*BK/2",
    .gmem_stores = "tiles*TM*TN/2",
    .smem_stores = "tiles*ceil(K/BK)*(1 + BN/32)",
    .async_copies = "tiles*ceil(K/BK)*(1 + BN/32)"};

// The same, and three warps load A and store its low parts, four floats at a time.
const model::Predicted kSplitBoxes = {
    .gmem_loads = kBoxes.gmem_loads,
    .gmem_floats = kBoxes.gmem_floats,
    .smem_loads = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96), BK/4)",
    .smem_floats = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96)*4, BK/2)",
    .gmem_stores = kBoxes.gmem_stores,
    .smem_stores = "tiles*ceil(K/BK)*max(ceil(BM*BK/4/96), 1 + BN/32)",
    .async_copies = kBoxes.async_copies};

// The variants of stages 12 and 11 that stand in for those of stages 13 and 14.
model::Variant stand_in(model::Variant variant, const model::Predicted& predicted) {
  variant.predicted = &predicted;
  return variant;
}
const model::Variant kLargeStandIn =
    stand_in(tensor_cores_variant<128, 256, 32, 64, 64, 4>("128x256x32"), kFragments);
const model::Variant kSmallStandIn =
    stand_in(tensor_cores_variant<64, 128, 32, 32, 64, 4>("64x128x32"), kFragments);
const model::Variant kSmallestStandIn =
    stand_in(tensor_cores_variant<64, 64, 32, 32, 32, 4>("64x64x32"), kFragments);
const model::Variant kLargeFp32StandIn =
    stand_in(balanced_variant<128, 256, 8, 64, 64, 16, 8, 4>("128x256x8"), kShared);
const model::Variant kSmallFp32StandIn =
    stand_in(balanced_variant<64, 64, 8, 32, 32, 8, 4, 4>("64x64x8"), kShared);

const std::vector<model::Stage> stages = {
    {.number = 0,
     .name = "serial",
     .idea = "The triple loop, as everyone first writes it, on one CPU core.",
     .needs = 0,
     .predicted = {},
     .variants = {}},
    {.number = 1,
     .name = "naive",
     .idea =
         "A thread for every element of C. A warp walks down a column, so each of its lanes loads "
         "A from a row of its own.",
     .needs = 0,
     .predicted = kUntiled,
     .variants =
         {naive_variant<32, 32>("32x32"), naive_variant<16, 16>("16x16"),
          naive_variant<8, 8>("8x8")},
     .questions =
         {{"How many bytes do all threads load together, and how often is each element of A "
           "loaded?",
           "M*N*2*K*4", "bytes",
           "Every thread loads a row of A and a column of B, so that an element of A is loaded N "
           "times and one of B M times."},
          {"How many of the floats in the sectors of one load of A does a warp use, in percent?",
           "100*32/(32*8)", "%",
           "32 rows are 32 sectors of 8 floats each, and one float of each is wanted.",
           model::kOf32Lanes}}},
    {.number = 2,
     .name = "coalesced",
     .idea = "Neighbouring threads read neighbouring addresses: a warp walks along a row of C.",
     .needs = 0,
     .predicted = kUntiled,
     .variants =
         {coalesced_variant<32, 32>("32x32"), coalesced_variant<16, 16>("16x16"),
          coalesced_variant<8, 8>("8x8")},
     .questions =
         {{"How many sectors do the two loads of one step of k take together?", "2*sectors",
           "sectors",
           "One for A, which all lanes read at the same address, and four for 32 neighbours of B.",
           model::kOf32Lanes},
          {"By how many did the loads per thread fall?", "0", "loads",
           "By none: 2K as before. What changed is which lanes ask for neighbours, and so the "
           "sectors per request."}}},
    {.number = 3,
     .name = "shared-memory tiling",
     .idea = "The threads of a block fetch a tile of A and of B together, and multiply from shared "
             "memory.",
     .needs = 0,
     .predicted = kTiled,
     .variants =
         {shared_memory_tiling_variant<32, 32, 32>("32x32"),
          shared_memory_tiling_variant<16, 16, 16>("16x16"),
          shared_memory_tiling_variant<8, 8, 8>("8x8")},
     .questions =
         {{"How often is an element of A loaded from global memory now?", "ceil(N/BN)", "times",
           "Once per block in its row of tiles, and no longer once per column of C."},
          {"How many barriers does a block pass on its way along K?", "2*ceil(K/BK)", "barriers",
           "Two per tile: one until it is complete, one until no thread needs it any more."}}},
    {.number = 4,
     .name = "1D thread coarsening",
     .idea = "A thread computes TM results in a column, and an element of B in a register "
             "serves all of them.",
     .needs = 0,
     .predicted = kTiled,
     .variants =
         {thread_coarsening_1d_variant<64, 64, 8, 8>("64x64x8-tm8"),
          thread_coarsening_1d_variant<16, 16, 16, 1>("16x16x16-tm1"),
          thread_coarsening_1d_variant<16, 16, 16, 2>("16x16x16-tm2"),
          thread_coarsening_1d_variant<16, 16, 16, 4>("16x16x16-tm4"),
          thread_coarsening_1d_variant<16, 16, 16, 8>("16x16x16-tm8"),
          thread_coarsening_1d_variant<16, 16, 16, 16>("16x16x16-tm16")},
     .questions =
         {{"How many loads from shared memory does one product cost now?", "(TM + TN)/(TM*TN)",
           "loads",
           "TM of A and one of B serve TM products; the previous stage needed two for one."},
          {"Why not make TM larger and larger? How many registers do the results take at TM = 64?",
           "64*TN", "registers",
           "Every result is a register. A block soon needs too many of them, and an SM then holds "
           "fewer blocks."}}},
    {.number = 5,
     .name = "2D thread tiling",
     .idea = "A thread computes TM x TN results from TM + TN elements in registers.",
     .needs = 0,
     .predicted = kTiled,
     .variants =
         {thread_tiling_2d_variant<128, 128, 8, 8, 8>("128x128x8"),
          thread_tiling_2d_variant<64, 64, 8, 8, 8>("64x64x8"),
          for_small(thread_tiling_2d_variant<64, 64, 8, 8, 4>("64x64x8-8x4"))},
     .questions =
         {{"How many products does a thread make per float that it loads from shared memory?",
           "TM*TN/(TM + TN)", "products per float",
           "TM + TN floats make TM x TN products: half the perimeter and the area."},
          {"How many wavefronts does a load from shared memory take on average, and why not "
           "one?",
           "wavefronts", "wavefronts",
           "Neighbouring lanes want words TN apart, so several of them are in one bank."}}},
    {.number = 6,
     .name = "vectorized",
     .idea = "One instruction moves four floats wherever data moves; A's tile is "
             "transposed as it is stored.",
     .needs = 0,
     .predicted = kFloat4,
     .variants =
         {vectorized_variant<128, 128, 8, 8, 8>("128x128x8"),
          vectorized_variant<64, 64, 8, 8, 8>("64x64x8"),
          for_small(vectorized_variant<64, 64, 8, 8, 4>("64x64x8-8x4"))},
     .questions =
         {{"How many instructions store a thread's results to C, and how many before?", "TM*TN/vec",
           "stores", "A float4 is four results; the previous stage stored each alone."},
          {"How many wavefronts does a 16-byte load of a full warp take at best?", "32*16/128",
           "wavefronts",
           "A wavefront delivers at most 32 banks of 4 bytes, so 512 bytes take four; fewer "
           "only if lanes want the same words.",
           model::kOf32Lanes}}},
    {.number = 7,
     .name = "conflict-free",
     .idea = "A thread's results come in squares of 4 x 4 and As is padded, so that no two lanes "
             "want different words of a bank.",
     .needs = 0,
     .predicted = kFloat4,
     .variants =
         {conflict_free_variant<128, 128, 8, 8, 8>("128x128x8"),
          conflict_free_variant<64, 64, 8, 8, 8>("64x64x8"),
          for_small(conflict_free_variant<64, 64, 8, 8, 4>("64x64x8-8x4"))},
     .questions =
         {{"How many bank conflicts are left?", "conflicts", "conflicts",
           "Squares of 4 x 4 put the lanes' float4 side by side, and a padded row starts in "
           "another bank than the one before."},
          {"How many bytes does the padding of As cost, with 4 floats per row?", "BK*4*4", "bytes",
           "One float4 after each of BK rows, which is little compared with BK rows of BM "
           "floats."}},
     .conflict_free = true},
    {.number = 8,
     .name = "warp tiling",
     .idea =
         "A warp computes its own tile, a lane 16 x 8 results, and neighbouring lanes ask shared "
         "memory for the same float4.",
     .needs = 0,
     .predicted = kFloat4,
     .variants =
         {warp_tiling_variant<128, 128, 8, 32, 128, 16, 8>("128x128x8"),
          warp_tiling_variant<64, 256, 8, 64, 64, 16, 8>("64x256x8"),
          for_small(warp_tiling_variant<64, 64, 8, 64, 32, 8, 8>("64x64x8-8x8")),
          for_small(warp_tiling_variant<64, 64, 8, 32, 32, 8, 4>("64x64x8"))},
     .questions =
         {{"How many threads does a block have now?", "threads", "threads",
           "Half as many as before, each with a larger tile: more products per float from shared "
           "memory."},
          {"How many products does it make per float from shared memory, where it was 4?",
           "TM*TN/(TM + TN)", "products per float",
           "A thread's tile is no longer square, but larger than 8 x 8, which makes 4 per float."}},
     .conflict_free = true},
    {.number = 9,
     .name = "async pipeline",
     .idea = "While one tile is multiplied, cp.async copies the next ones to shared memory.",
     .needs = 80,
     .predicted = kRing,
     .variants =
         {async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>("128x256x8"),
          for_small(async_pipeline_variant<64, 128, 8, 32, 64, 8, 8, 4>("64x128x8")),
          for_small(async_pipeline_variant<64, 64, 8, 32, 32, 8, 4, 4>("64x64x8"))},
     .questions =
         {{"How many warps does an SM hold, and why is that enough?", "warps_per_sm", "warps",
           "Other warps no longer hide the latency of global memory; the tiles in flight do."},
          {"How many bytes are in flight while a tile is multiplied?", "pipeline*BK*(BM + BN)*4",
           "bytes", "A tile of A and one of B for each stage in flight, per block."}},
     .conflict_free = true},
    {.number = 10,
     .name = "register pipeline",
     .idea = "The floats of the next step come to registers while those of this step are "
             "multiplied, back and forth along the rows.",
     .needs = 80,
     .predicted = kRing,
     .variants =
         {register_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>("128x256x8"),
          for_small(register_pipeline_variant<64, 128, 8, 32, 64, 8, 8, 4>("64x128x8")),
          for_small(register_pipeline_variant<64, 64, 8, 32, 32, 8, 4, 4>("64x64x8"))},
     .questions =
         {{"How many registers do the fragments of A and B take now, and how many before?",
           "2*(TM + TN)", "registers",
           "Two steps are in registers at a time, one being multiplied and one being loaded; "
           "before it was one."},
          {"How many loads from shared memory did that save?", "0", "loads",
           "None: every fragment is loaded once, as before, but one step earlier."}},
     .conflict_free = true},
    {.number = 11,
     .name = "balanced",
     .idea = "The tiles of the last wave of blocks are cut along K, and SMs that would idle take "
             "the parts.",
     .needs = 80,
     .predicted = kShared,
     .variants =
         {balanced_variant<128, 256, 8, 64, 64, 16, 8, 4>("128x256x8"),
          for_small(balanced_variant<64, 128, 8, 32, 64, 8, 8, 4>("64x128x8")),
          for_small(balanced_variant<64, 64, 8, 32, 32, 8, 4, 4>("64x64x8")),
          balanced_variant<128, 256, 8, 64, 64, 16, 8, 4>("128x256x8-ordered", false)},
     .questions =
         {{"How many blocks does the launch have, and how many tiles has C?", "blocks", "blocks",
           "ceil(M/BM) * ceil(N/BN) tiles, and a tile that is cut has a block for each part."},
          {"How many floats does a cut tile's sum pass through memory, per part?", "BM*BN",
           "floats",
           "Each part stores a sum for every element of the tile, and the last block to arrive "
           "loads all of them."}},
     .conflict_free = true},
    {.number = 12,
     .name = "tensor cores",
     .idea = "One instruction of a warp multiplies a 16 x 8 by an 8 x 8 matrix of tf32, from tiles "
             "that are swizzled against bank conflicts.",
     .needs = 80,
     .predicted = kFragments,
     .variants =
         {tensor_cores_variant<128, 256, 32, 64, 64, 4>("128x256x32"),
          tensor_cores_variant<128, 256, 32, 64, 64, 3>("128x256x32-ring3"),
          tensor_cores_variant<128, 256, 32, 64, 64, 2>("128x256x32-ring2"),
          for_small(tensor_cores_variant<64, 128, 32, 32, 64, 4>("64x128x32")),
          for_small(tensor_cores_variant<64, 64, 32, 32, 32, 4>("64x64x32"))},
     .questions =
         {{"How many multiplications does one mma.m16n8k8 make, and how many does one FFMA of a "
           "warp?",
           "16*8*8", "multiplications",
           "16 x 8 results with 8 products each; the FFMA of a warp makes one for each of 32 "
           "lanes."},
          {"How many products does a thread make per float from shared memory, where it was "
           "128/24?",
           "WM*WN*8/((WM + WN)*8)", "products per float",
           "A warp loads 8 columns of WM rows and 8 rows of WN columns, each float once, and the "
           "tensor core hands them to all lanes that need them."}},
     .precision = model::kTf32,
     .conflict_free = true,
     .runs_from = 80,
     .swizzles =
         {{.tile = "A",
           .keys = 8,
           .chunks = {0},
           .rows = 8,
           .read_by = "one matrix of ldmatrix",
           .walk = {2, 4, 6}},
          {.tile = "B",
           .keys = 4,
           .chunks = {0, 4},
           .rows = 4,
           .read_by = "a group of 8 lanes, a float4 each,",
           .walk = {}}}},
    {.number = 13,
     .name = "Hopper",
     .idea = "A copy engine fills the ring, and four warps together multiply 64 x 8 by 8 x 256 "
             "elements straight from shared memory.",
     .needs = 90,
     .predicted = kBoxes,
     .variants =
         {hopper_variant<256, 128, 32, 4>("256x128x32", kLargeStandIn),
          hopper_variant<256, 128, 32, 3>("256x128x32-ring3", kLargeStandIn),
          for_small(hopper_variant<128, 128, 32, 4>("128x128x32", kSmallStandIn)),
          for_small(hopper_variant<64, 64, 32, 3>("64x64x32", kSmallestStandIn)),
          hopper_bf16_variant<128, 256, 64, 4>("bf16-128x256x64")},
     .questions =
         {{"How many multiplications does one wgmma.m64n256k8 make, and how many did one "
           "mma.m16n8k8?",
           "64*256*8", "multiplications",
           "64 x 256 results with 8 products each, for four warps; mma made 1024 for one."},
          {"How many instructions of the block copy a K tile of A and B, where every thread made "
           "several?",
           "1 + BN/32", "instructions",
           "A box of A, and one of B for each 32 columns, since a swizzled row of a box has at "
           "most 128 bytes. One thread starts them all."},
          {"How many products does a multiplying thread make per float that it loads from shared "
           "memory?",
           "TM*TN*BK/(BK/2)", "products per float",
           "Its warpgroup has every element of B in the registers of one thread. A is not loaded: "
           "the tensor cores read it in shared memory."}},
     .precision = model::kTf32,
     .conflict_free = true,
     .runs_from = 90,
     .only_there = true,
     .specialized = true,
     .swizzles =
         {{.tile = "B",
           .keys = 8,
           .chunks = {0, 4},
           .rows = 4,
           .read_by = "a group of 16 lanes, half a chunk each,",
           .walk = {}}}},
    {.number = 14,
     .name = "fp32 from tensor cores",
     .idea = "Every float is split into two tf32 numbers, and three products of the tensor cores "
             "make one of fp32.",
     .needs = 90,
     .predicted = kSplitBoxes,
     .variants =
         {split_fp32_variant<128, 128, 32, 4>("128x128x32", kLargeFp32StandIn),
          split_fp32_variant<128, 128, 32, 3>("128x128x32-ring3", kLargeFp32StandIn),
          for_small(split_fp32_variant<64, 64, 32, 4>("64x64x32", kSmallFp32StandIn)),
          split_fp32_variant<64, 64, 32, 2>("64x64x32-ring2", kSmallFp32StandIn)},
     .questions =
         {{"How many multiplications do the tensor cores make for one product of two floats?", "3",
           "multiplications",
           "high * high, high * low and low * high. low * low is at most 2^-20 of the product, "
           "and 2^-23 of it on average."},
          {"How many bytes of shared memory does a K tile take, and how many before?",
           "(2*BM + BN)*BK*4", "bytes",
           "A's tile stands there twice, as it is and as its low parts. B is split in "
           "registers."}},
     .precision = model::kSplitTf32,
     .conflict_free = true,
     .runs_from = 90,
     .only_there = true,
     .specialized = true},
};

// float4 needs every row to be 16-byte aligned.
const model::KernelRef& kernel_for(
    const model::Variant& variant, int N, int K, const float* A, const float* B, const float* C) {
  const auto aligned = [](const float* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4) == 0;
  };
  const bool use_float4 = K % 4 == 0 && N % 4 == 0 && aligned(A) && aligned(B) && aligned(C);
  return use_float4 ? variant.kernel : variant.kernel_any;
}

// Memory in which the blocks of stage 11 leave sums for one another: at most two tiles per SM. It
// is allocated once, and again if a launch needs more. Only one launch at a time may use it.
Shares shares_in_memory(const model::ShareOut& shares, const model::Variant& variant, int tiles) {
  static float* sums = nullptr;
  static unsigned* arrived = nullptr;
  static std::size_t floats_allocated = 0, tiles_allocated = 0;
  const std::size_t cut = tiles - shares.whole;
  const std::size_t floats = cut * shares.parts * variant.BM * variant.BN;
  if (floats > floats_allocated || cut > tiles_allocated) {
    floats_allocated = tiles_allocated = 0;
    cudaFree(sums);
    cudaFree(arrived);
    sums = nullptr;
    arrived = nullptr;
    if (cudaMalloc(&sums, floats * sizeof(float)) != cudaSuccess ||
        cudaMalloc(&arrived, cut * sizeof(unsigned)) != cudaSuccess) {
      throw model::Refusal(
          "there is no memory for the sums of " + std::to_string(cut) + " tiles in parts");
    }
    cudaMemset(arrived, 0, cut * sizeof(unsigned));
    floats_allocated = floats;
    tiles_allocated = cut;
  }
  return {shares.whole, shares.parts, shares.depth, sums, arrived};
}

// The copies of A and B that the last launch with bf16 made.
Bf16Copies& bf16_copies() {
  static Bf16Copies copies;
  return copies;
}

// The maps of A and B for the kernels of stages 13 and 14. In stage 13, A is rounded to tf32 on its
// way to shared memory. If K is 0, there is nothing to copy, and no map.
Maps maps_of(const model::Variant& variant, int M, int N, int K, const float* A, const float* B) {
  if (K == 0) return {};
  if (model::multiplies_bf16(variant)) {
    const auto& [a, b] = bf16_copies().of(A, B, M, N, K);
    constexpr auto kElement = TensorElement::bfloat16;
    constexpr auto kSwizzle = model::Swizzle::span_128;
    return {
        tensor_map_2d(
            a.elements, M, K, a.pitch_bytes, {variant.BM, variant.BK}, kSwizzle, kElement),
        tensor_map_2d(b.elements, K, N, b.pitch_bytes, {variant.BK, 64}, kSwizzle, kElement)};
  }
  const auto pitch = [](int columns) { return std::uint64_t{sizeof(float)} * columns; };
  return {
      tensor_map_2d(
          A, M, K, pitch(K), {variant.BM, variant.BK}, model::Swizzle::span_128,
          variant.multiplier == model::Multiplier::wgmma_tf32 ? TensorElement::tfloat32
                                                              : TensorElement::float32),
      tensor_map_2d(B, K, N, pitch(N), {variant.BK, 32})};
}

template <class... Parameters>
auto* with_parameters(const model::KernelRef& kernel) {
  return reinterpret_cast<void (*)(Parameters...)>(reinterpret_cast<void (*)()>(kernel.function));
}

// One launch of `kernel`, which belongs to `variant`.
void launch_once(
    const model::Variant& variant, const model::KernelRef& kernel, int sms, int M, int N, int K,
    float alpha, const float* A, const float* B, float beta, float* C) {
  const dim3 block(variant.block_x, variant.block_y);
  if (variant.sharing == model::Sharing::grid) {
    const dim3 grid(ceil_div(N, variant.BN), ceil_div(M, variant.BM));
    launch(kernel.function, grid, block, variant.shared_bytes, M, N, K, alpha, A, B, beta, C);
    return;
  }
  const int tiles = model::tiles_of(variant, M, N);
  const model::ShareOut shares = model::share_out(variant, M, N, K, sms);
  const int blocks = model::blocks_of(shares, tiles);
  if (variant.sharing == model::Sharing::persistent) {
    launch(
        with_parameters<int, int, int, float, const Maps, float, float*>(kernel), blocks, block,
        variant.shared_bytes, M, N, K, alpha, maps_of(variant, M, N, K, A, B), beta, C);
  } else {
    launch(
        with_parameters<int, int, int, float, const float*, const float*, float, float*, Shares>(
            kernel),
        blocks, block, variant.shared_bytes, M, N, K, alpha, A, B, beta, C,
        shares_in_memory(shares, variant, tiles));
  }
}

// C = alpha * A * B + beta * C with one launch, or several where C has more block rows than a grid.
// If the last launch was of the same A and B, its copies of them are used again.
void run_again(
    const model::Variant& variant, int sms, int M, int N, int K, float alpha, const float* A,
    const float* B, float beta, float* C) {
  constexpr int kLargest = INT_MAX - 1023;  // the last tile's rows and columns must be ints as well
  if (const int largest = std::max({M, N, K}); largest > kLargest) {
    throw model::Refusal(
        "a dimension of " + std::to_string(largest) + " is too large; the most is " +
        std::to_string(kLargest));
  }
  if (M == 0 || N == 0) return;
  if (alpha == 0.0f) K = 0;  // as BLAS says, A and B are not read then
  if (K == 0) alpha = 0.0f;  // C = beta * C, even if alpha is infinite

  const model::KernelRef& kernel = kernel_for(variant, N, K, A, B, C);
  const model::Variant& launched = model::launched(variant, &kernel == &variant.kernel);
  constexpr int kMostBlockRows = 65535;  // gridDim.y, on every GPU
  while (M > 0) {
    const int rows = std::min(M, kMostBlockRows * launched.BM);
    launch_once(launched, kernel, sms, rows, N, K, alpha, A, B, beta, C);
    A += static_cast<std::size_t>(rows) * K;
    C += static_cast<std::size_t>(rows) * N;
    M -= rows;
  }
}

void run(
    const model::Variant& variant, int sms, int M, int N, int K, float alpha, const float* A,
    const float* B, float beta, float* C) {
  bf16_copies().forget();  // A and B may have other elements now
  run_again(variant, sms, M, N, K, alpha, A, B, beta, C);
}

extern const model::StageTable stage_table{stages, kernel_for, run, run_again};

int main(int argc, char** argv) {
  return cli::walk(argc, argv, stage_table);
}
