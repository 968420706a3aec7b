// gemm_steps: how a matrix multiplication becomes fast on a GPU, one idea per stage.
//
// Every kernel computes C = alpha * A * B + beta * C for row-major fp32 matrices: A is M x K, B is
// K x N, C is M x N. Each stage is the one before plus one idea: `src/school/lesson/diff.sh naive
// coalesced` shows what changed. In 12 to 16, tensor cores multiply A and B rounded to tf32.
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
//  13  ldmatrix                A is copied as it is, and spread over the lanes when it is read
//  14  copy engine             one thread starts all copies; barriers count the bytes
//  15  warpgroups              four warps multiply 64 x 8 by 8 x 256, straight from shared memory
//  16  specialized warps       blocks stay on their SM; some warps copy while others multiply
//  17  fp32 from tf32 parts    each float is two tf32 numbers; three products make one of fp32
//  18  fp32 from fp16 parts    the same with two fp16 numbers, which a kernel makes before
//  19  taking turns            while the tensor cores work for four warps, four others add up
//  20  scaled parts            each line of A and B has a unit of its own, a power of two
//  21  proven parts            counts prove that the parts lose little, or stage 17 runs
//
// Compile: make, or by hand nvcc -std=c++20 -O3 -Xcompiler=-iquote,src -c gemm_steps.cu. Without a
// GPU it runs on the CPU, traced. src/simulator/cuda/ has the instructions that CUDA C++ does not
// name: ldmatrix and mma in instructions.h; mbarrier, TMA and wgmma in hopper_instructions.h.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/walk.h"
#include "lab/gpu/operands.h"
#include "model/error.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "model/tile.h"
#include "school/lesson/lessons.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/instructions.h"
#include "simulator/cuda/launch.h"

// Below each kernel stand its tiles, those for large products first, and its launch: the kernel,
// and a struct of model/tile.h, which checks the tile and has the block's threads, its dynamic
// shared memory, and how tiles of C become blocks. VEC is 1 where rows are not 16-byte aligned.
using namespace model;
template <auto k, class Known>
struct Of : Known {
  static constexpr auto kernel = k;
};

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

// Two neighbours as one number, from stage 15 on.
__device__ inline float2& as_float2(float& first) {
  return reinterpret_cast<float2&>(first);
}
__device__ inline const float2& as_float2(const float& first) {
  return reinterpret_cast<const float2&>(first);
}

// C = alpha * sum + beta * C for pairs of neighbours in a row of C: pair(i) returns their place and
// their sums. A load of C waits for the stores before it. So 4 pairs are loaded before one is
// stored.
struct Pair {
  int row, col;
  float2 sum;
};
template <int VEC, int PAIRS, class PairOf>
__device__ inline void update_pairs(
    float* C, int M, int N, float alpha, const PairOf& pair, float beta) {
#pragma unroll
  for (int first = 0; first < PAIRS; first += 4) {
    float2 old[4] = {};
#pragma unroll
    for (int i = 0; i < 4 && beta != 0.0f; ++i) {
      const auto [row, col, sum] = pair(first + i);
      if (row < M && col < N && VEC == 2) old[i] = as_float2(C[offset(row, col, N)]);
      if (VEC == 1) old[i] = {load_or_zero(C, M, N, row, col), load_or_zero(C, M, N, row, col + 1)};
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const auto [row, col, sum] = pair(first + i);
      const float2 result = {alpha * sum.x + beta * old[i].x, alpha * sum.y + beta * old[i].y};
      if (row >= M || col >= N) continue;
      if (VEC == 2) {
        as_float2(C[offset(row, col, N)]) = result;
      } else {
        C[offset(row, col, N)] = result.x;
        if (col + 1 < N) C[offset(row, col + 1, N)] = result.y;
      }
    }
  }
}

// Stage 1: naive
// The direct translation of the triple loop: one thread per element of C.
// Each thread loads a row of A and a column of B from global memory: 2K loads for one result.
// The lanes of a warp have consecutive threadIdx.x, here consecutive rows. Their elements of A are
// K floats apart: one request touches 32 sectors and uses 4 bytes of each.
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

constexpr Tile kOnePerThread[] = {{.BM = 32, .BN = 32}, {.BM = 16, .BN = 16}, {.BM = 8, .BN = 8}};
template <Tile t, int>
struct Naive : Launch<t> {
  static constexpr auto kernel = naive<t.BM, t.BN>;
  static constexpr int block_x = t.BM, block_y = t.BN;
};

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

template <Tile t, int>
using Coalesced = Of<coalesced<t.BM, t.BN>, Launch<t>>;

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

template <Tile t, int>
struct SharedMemoryTiling : CopiedByThreads<Tile{.BM = t.BM, .BN = t.BN, .BK = t.BM}, 1> {
  static_assert(t.BM == t.BN, "every thread copies one element of either tile: both are square");
  static constexpr auto kernel = shared_memory_tiling<t.BM, t.BN, t.BM>;
};

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

constexpr Tile kColumns[] = {
    {.BM = 64, .BN = 64, .BK = 8, .TM = 8, .suffix = "-tm8"},
    {.BM = 16, .BN = 16, .BK = 16, .TM = 1, .suffix = "-tm1"},
    {.BM = 16, .BN = 16, .BK = 16, .TM = 2, .suffix = "-tm2"},
    {.BM = 16, .BN = 16, .BK = 16, .TM = 4, .suffix = "-tm4"},
    {.BM = 16, .BN = 16, .BK = 16, .TM = 8, .suffix = "-tm8"},
    {.BM = 16, .BN = 16, .BK = 16, .TM = 16, .suffix = "-tm16"}};
template <Tile t, int>
using ThreadCoarsening1d = Of<thread_coarsening_1d<t.BM, t.BN, t.BK, t.TM>, CopiedByThreads<t, 1>>;

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

constexpr Tile kSquares[] = {
    {.BM = 128, .BN = 128, .BK = 8, .TM = 8, .TN = 8},
    {.BM = 64, .BN = 64, .BK = 8, .TM = 8, .TN = 8},
    {.BM = 64, .BN = 64, .BK = 8, .TM = 8, .TN = 4, .for_small = true, .suffix = "-8x4"}};
template <Tile t, int>
using ThreadTiling2d = Of<thread_tiling_2d<t.BM, t.BN, t.BK, t.TM, t.TN>, CopiedByThreads<t, 1>>;

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

template <Tile t, int VEC>
using Vectorized = Of<vectorized<t.BM, t.BN, t.BK, t.TM, t.TN, VEC>, Float4s<t, 4>>;

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

template <Tile t, int VEC>
using ConflictFree = Of<conflict_free<t.BM, t.BN, t.BK, t.TM, t.TN, VEC>, Padded<t, 4>>;

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

constexpr Tile kOfWarps[] = {
    {.BM = 128, .BN = 128, .BK = 8, .WM = 32, .WN = 128, .TM = 16, .TN = 8},
    {.BM = 64, .BN = 256, .BK = 8, .WM = 64, .WN = 64, .TM = 16, .TN = 8},
    {64, 64, 8, 64, 32, 8, 8, 0, true, "-8x8"},
    {.BM = 64, .BN = 64, .BK = 8, .WM = 32, .WN = 32, .TM = 8, .TN = 4, .for_small = true}};
template <Tile t, int VEC>
using WarpTiling = Of<warp_tiling<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, VEC>, Padded<t, 4>>;

// From here on, shared memory holds several tiles, each with A transposed as before. A row has
// A_WORDS or B_WORDS: as many as the tile has rows or columns, and the padding. __align__(128) puts
// the first tile at the start of a line of shared memory. Otherwise any other variable in shared
// memory could move the tiles by 16 bytes, and cp.async of 16 bytes would fetch every sector twice.
template <int A_WORDS, int B_WORDS, int BK>
struct Tiles {
  float A[BK][A_WORDS];
  float B[BK][B_WORDS];
};

// cp.async copies VEC floats to shared memory without a register in between and without waiting.
// Outside the matrix it reads nothing, and zeros arrive.
template <int VEC>
__device__ inline void copy_async_or_zero(
    float* to, const float* matrix, int rows, int cols, int row, int col) {
  const bool inside = row < rows && col < cols;
  cp_async<4 * VEC>(to, inside ? &matrix[offset(row, col, cols)] : matrix, !inside);
}

// Stage 9: async pipeline
// Until now a block copied, waited, multiplied, waited. Now shared memory is a ring of STAGES tiles
// of A and B: while one is multiplied, the STAGES - 1 after it are in flight. One barrier per tile
// is left. It says that a tile is complete, and that all are done with the one before, so that its
// place in the ring is free. cp.async cannot transpose four floats, so those of A are copied one by
// one.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) async_pipeline(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM + 4, BN, BK>*>(shared);  // (STAGES)

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  const int tiles = ceil_div(K, BK);
  const auto start_copy = [&](int tile) {
    if (tile < tiles) {
      auto& [As, Bs] = ring[tile % STAGES];
      const int k0 = tile * BK;
      for (int i = 0; i < BM; i += kThreads / BK) {
        const int m = i + thread / BK, k = thread % BK;
        copy_async_or_zero<1>(&As[k][m], A, M, K, block_row + m, k0 + k);
      }
      for (int i = 0; i < BK; i += VEC * kThreads / BN) {
        const int k = i + VEC * thread / BN, n = VEC * thread % BN;
        copy_async_or_zero<VEC>(&Bs[k][n], B, K, N, k0 + k, block_col + n);
      }
    }
    __pipeline_commit();  // without copies, too: each tile has a group
  };

  alignas(16) float sum[TM][TN] = {};
  for (int tile = 0; tile < STAGES - 1; ++tile) start_copy(tile);
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    start_copy(tile + STAGES - 1);

    const auto& [As, Bs] = ring[tile % STAGES];
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

constexpr Tile kPipelined[] = {
    {.BM = 128, .BN = 256, .BK = 8, .WM = 64, .WN = 64, .TM = 16, .TN = 8, .STAGES = 4},
    {64, 128, 8, 32, 64, 8, 8, 4, true},
    {64, 64, 8, 32, 32, 8, 4, 4, true}};
template <Tile t, int VEC>
using PaddedInRing = InRing<Padded<t, 1, VEC>, Tiles<t.BM + 4, t.BN, t.BK>>;
template <Tile t, int VEC>
using AsyncPipeline =
    Of<async_pipeline<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>,
       PaddedInRing<t, VEC>>;

// One thread's part of all copies of a block: from left to right through BM rows of A, and down
// through BN columns of B. It keeps its addresses from tile to tile. Only K is checked. A row or
// column past the edge is replaced by the last one: what is computed from it is never stored.
template <int BM, int BN, int BK, int kThreads, int VEC>
struct Copies {
  static constexpr int kRowsA = kThreads / BK, kRowsB = VEC * kThreads / BN;  // copied at a time
  int cols, k_left, a_m, a_k, b_k, b_n;
  const float* from_A[BM / kRowsA];
  const float* from_B;

  __device__ Copies(
      const float* A, const float* B, int M, int N, int K, int block_row, int block_col, int k0 = 0)
      : cols(N), k_left(K - k0) {
    const int thread = threadIdx.x;
    a_m = thread / BK, a_k = thread % BK;
    b_k = VEC * thread / BN, b_n = VEC * thread % BN;
    for (int i = 0; i < BM / kRowsA; ++i) {
      from_A[i] = A + offset(min(block_row + a_m + i * kRowsA, M - 1), k0 + a_k, K);
    }
    from_B = B + offset(k0 + b_k, min(block_col + b_n, N - VEC), N);
  }

  // Starts to copy the next tile.
  template <class Tiles>
  __device__ void start(Tiles& to) {
    for (int i = 0; i < BM / kRowsA; ++i) {
      cp_async<4>(&to.A[a_k][a_m + i * kRowsA], from_A[i], a_k >= k_left);
      from_A[i] += BK;
    }
    for (int i = 0; i < BK; i += kRowsB) {
      cp_async<4 * VEC>(&to.B[b_k + i][b_n], from_B + offset(i, 0, cols), b_k + i >= k_left);
    }
    from_B += offset(BK, 0, cols);
    k_left -= BK;
    __pipeline_commit();
  }
};

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
  const auto ring = reinterpret_cast<Tiles<BM + 4, BN, BK>*>(shared);  // (STAGES)

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int thread = threadIdx.x;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int lane_row = thread % 32 / 2 % (WM / TM);
  const int lane_col = thread % 32 / 2 / (WM / TM) * 2 + thread % 2;
  const int row = warp_row + lane_row * 4;  // and this thread's first result
  const int col = warp_col + lane_col * 4;

  const int tiles = max(1, ceil_div(K, BK));  // if K is 0, one tile of zeros
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col);

  alignas(16) float sum[TM][TN] = {};
  alignas(16) float a[2][TM], b[2][TN];  // one is multiplied while the other is loaded
  const auto load = [&](const Tiles<BM + 4, BN, BK>& tile, int k) {
    const auto& [As, Bs] = tile;
    float *const a_to = a[k % 2], *const b_to = b[k % 2];
    for (int j = 0; j < TN; j += 4) as_float4(b_to[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
    for (int i = 0; i < TM; i += 4) as_float4(a_to[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES]);
      if (k + 1 < BK) {
        load(ring[tile % STAGES], k + 1);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(ring[(tile + 1) % STAGES], 0);
      }
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          const int n = i % 2 == 0 ? j : TN - 1 - j;
          sum[i][n] += a[k % 2][i] * b[k % 2][n];
        }
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) copies.start(ring[tile]);
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

template <Tile t, int VEC>
using RegisterPipeline =
    Of<register_pipeline<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>,
       PaddedInRing<t, VEC>>;

// How stage 11 shares out its work: the first `whole` tiles of C have a block each. Each of the
// others is cut along K into `slices` slices of `depth` K tiles, except that the last slice may be
// shorter, and each slice has a block. A launch can have a condition (OnlyIf), too.
struct Shares : OnlyIf {
  int whole, slices, depth;
  float* sums;        // of the slices, until they are added up
  unsigned* arrived;  // how many slices of each cut tile are done; 0 before and after
};

// Decides before the launch which tiles stage 11 cuts, for `sms` SMs and `k_tiles` K tiles in each
// tile of C. All SMs get equally many whole tiles. The rest, tiles % sms, would occupy only some of
// them, and is cut, unless that saves too little or the slices would be too short.
model::ShareOut share_out(int tiles, int k_tiles, int sms) {
  // In K tiles. Starting a block, storing its sums and adding them up costs about as much as a few
  // K tiles, so less than kLeastSaved is not worth it (measured on an H200, results/fp32-log.md).
  constexpr int kOverhead = 4, kLeastSaved = 16, kLeastDepth = 8;
  const int left = tiles % sms, idle = sms - left;
  int depth = k_tiles;
  if (left > idle) {
    // Every tile loses its last slice to the idle SMs, which compute `rounds` of them, one after
    // the other. All are done at the same time if depth = rounds * (k_tiles - depth + kOverhead).
    const int rounds = ceil_div(left, idle);
    depth = k_tiles + kOverhead - (k_tiles + kOverhead) / (rounds + 1);
  } else if (left > 0) {
    depth = std::max(ceil_div(k_tiles, sms / left), kLeastDepth);
  }
  if (k_tiles - depth < kLeastSaved) return {tiles, 1, k_tiles};
  return {tiles - left, ceil_div(k_tiles, depth), depth};
}

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
  bool is_slice;
  int cut_tile, slice;
};

template <int BM, int BN, int BK>
__device__ inline Work work_of(int block, int M, int N, int K, const Shares& shares) {
  const int rows = ceil_div(M, BM), cols = ceil_div(N, BN), all = max(1, ceil_div(K, BK));
  int number = block, cut_tile = 0, slice = 0, k0 = 0, tiles = all;
  if (block >= shares.whole) {
    const int cut_tiles = rows * cols - shares.whole;
    cut_tile = (block - shares.whole) % cut_tiles;
    slice = (block - shares.whole) / cut_tiles;
    number = shares.whole + cut_tile;
    k0 = slice * shares.depth * BK;
    tiles = min(shares.depth, all - slice * shares.depth);
  }
  const Corner corner = corner_of<BM, BN>(number, M, N);
  return {corner.row, corner.col, tiles, k0, block >= shares.whole, cut_tile, slice};
}

// Where a block's results go: to C, or, if they are sums of a slice, to a matrix of their own.
struct Target {
  float* C;
  int M, N, row, col;
  float alpha, beta;
};

template <int BM, int BN>
__device__ inline Target target_of(const Work& work, const Shares& shares) {
  const long long slice = static_cast<long long>(work.cut_tile) * shares.slices + work.slice;
  return {shares.sums + slice * BM * BN, BM, BN, 0, 0, 1.0f, 0.0f};
}

// The last block to arrive at a cut tile adds up its slices, always in the order of K, so that the
// bits of C do not depend on who is last. Nobody waits.
template <int BM, int BN, int kThreads, int VEC>
__device__ inline void add_up_slices(const Work& work, const Shares& shares, const Target& to) {
  __shared__ unsigned before;
  const unsigned last = shares.slices - 1;
  __threadfence();  // the sums are visible before the arrival is
  __syncthreads();
  // Counts up to `last`, and from there to 0 again, for the next launch.
  if (threadIdx.x == 0) before = atomicInc(&shares.arrived[work.cut_tile], last);
  __syncthreads();
  if (before < last) return;
  __threadfence();  // and the others' sums are not read before they are visible

  const float* const sums =
      shares.sums + static_cast<long long>(work.cut_tile) * shares.slices * BM * BN;
  // Loads that do not wait for each other.
  constexpr int kAtOnce = BM * BN / 4 / kThreads < 8 ? BM * BN / 4 / kThreads : 8;
  for (int first = 4 * threadIdx.x; first < BM * BN; first += 4 * kThreads * kAtOnce) {
    float4 sum[kAtOnce] = {};
    for (int slice = 0; slice < shares.slices; ++slice) {
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const float4 more = __ldcg(&as_float4(sums[slice * BM * BN + first + 4 * kThreads * i]));
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
// the slices. The last block to arrive at a cut tile adds them up. No block waits for another.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) balanced(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
    Shares shares) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  if (!is_to_run(shares)) return;
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM + 4, BN, BK>*>(shared);  // (STAGES)

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
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col, work.k0);

  alignas(16) float sum[TM][TN] = {};
  alignas(16) float a[2][TM], b[2][TN];  // one is multiplied while the other is loaded
  const auto load = [&](const Tiles<BM + 4, BN, BK>& tile, int k) {
    const auto& [As, Bs] = tile;
    float *const a_to = a[k % 2], *const b_to = b[k % 2];
    for (int j = 0; j < TN; j += 4) as_float4(b_to[j]) = as_float4(Bs[k][col + spread(j, WN / TN)]);
    for (int i = 0; i < TM; i += 4) as_float4(a_to[i]) = as_float4(As[k][row + spread(i, WM / TM)]);
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES]);
      if (k + 1 < BK) {
        load(ring[tile % STAGES], k + 1);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(ring[(tile + 1) % STAGES], 0);
      }
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
          const int n = i % 2 == 0 ? j : TN - 1 - j;
          sum[i][n] += a[k % 2][i] * b[k % 2][n];
        }
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) copies.start(ring[tile]);
  __pipeline_wait_prior(0);
  __syncthreads();
  load(ring[0], 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

  const Target c = {C, M, N, block_row, block_col, alpha, beta};
  const Target to = work.is_slice ? target_of<BM, BN>(work, shares) : c;
#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      update4_if_inside<VEC>(
          to.C, to.M, to.N, to.row + row + spread(i, WM / TM), to.col + col + spread(j, WN / TN),
          to.alpha, as_float4(sum[i][j]), to.beta);
    }
  }
  if (work.is_slice) add_up_slices<BM, BN, kThreads, VEC>(work, shares, c);
}

// From here on, some tiles are for C with few results for what is read: they have few rows, or few
// columns, and long rings, so that many bytes are in flight.
constexpr Tile kFewRows[] = {{16, 256, 16, 16, 32, 4, 4, 4}};
template <Tile t, int VEC>
struct Balanced : PaddedInRing<t, VEC> {
  static_assert(t.TM * t.TN == 16 || t.TM * t.TN % 32 == 0, "a thread adds up 4 or 8 float4");
  static constexpr auto kernel = balanced<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>;
  static constexpr auto sharing = Sharing::ordered;
  static constexpr auto share_out = ::share_out;
};
// Without cuts, so that only the order of the blocks is new.
template <Tile t, int VEC>
struct Ordered : Balanced<t, VEC> {
  static constexpr const char* name = "128x256x8-ordered";
  static constexpr decltype(&::share_out) share_out = nullptr;
};

// Rounds to the nearest tf32. The tensor core ignores the last 13 bits, so this adds half of the
// last bit that stays: one instruction on sm_90. Its maximum keeps 0x7fffffff, the NaN that a GPU
// writes, from becoming -0. Most other NaNs stay NaNs. But those from 0xfffff000 on become 0, and
// those that differ from infinity only in the last 12 bits become infinity. cvt.rna.tf32 has no
// such exceptions, but it takes three instructions.
__device__ inline unsigned rounded_to_tf32(float x) {
  const int bits = __float_as_int(x);
  return __viaddmax_s32(bits, 0x1000, bits);
}

// Stage 12: tensor cores
// One instruction of a warp, mma, multiplies 16 x 8 elements of A by 8 x 8 of B: 1024 products,
// where an FFMA makes 32. The elements are tf32, floats with 10 bits after the point; the sums are
// fp32. The lanes hold the matrices together: lane l has the elements with k = l % 4 and l % 4 + 4
// of two rows of A and one column of B. Which rows and columns these are is up to us. A lane loads
// four neighbours at a time, as before, and each belongs to a multiplication of its own.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) tensor_cores(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<Tiles<BM + 8, BN + 8, BK>*>(shared);  // (STAGES)

  const auto [block_row, block_col] = corner_of<BM, BN>(blockIdx.x, M, N);  // C's tile (BM, BN)
  const int thread = threadIdx.x, lane = thread % 32;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  const int row = warp_row + lane / 4 * 4;  // and the first elements that this thread loads
  const int col = warp_col + lane / 4 * 4;

  const int tiles = max(1, ceil_div(K, BK));  // if K is 0, one tile of zeros
  Copies<BM, BN, BK, kThreads, VEC> copies(A, B, M, N, K, block_row, block_col);

  float sum[TM / 2][TN / 2][4] = {};
  alignas(16) float a[2][2][TM], b[2][2][TN / 2];  // one is multiplied while the other is loaded
  const auto load = [&](int tile, int k) {
    const auto& [As, Bs] = ring[tile % STAGES];
    for (int x = 0; x < 2; ++x) {
      float *const a_to = a[k / 8 % 2][x], *const b_to = b[k / 8 % 2][x];
      const int k_x = k + 4 * x + lane % 4;
      for (int j = 0; j < TN / 2; j += 4) as_float4(b_to[j]) = as_float4(Bs[k_x][col + 8 * j]);
      for (int i = 0; i < TM; i += 4) as_float4(a_to[i]) = as_float4(As[k_x][row + 8 * i]);
    }
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      if (k == 0 && copy) copies.start(ring[(tile + STAGES - 1) % STAGES]);
      if (k + 8 < BK) {
        load(tile, k + 8);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(tile + 1, 0);
      }
      unsigned b_tf32[TN / 2][2];
      for (int j = 0; j < TN / 2; ++j) {
        for (int x = 0; x < 2; ++x) b_tf32[j][x] = rounded_to_tf32(b[k / 8 % 2][x][j]);
      }
      for (int i = 0; i < TM / 2; ++i) {
        unsigned a_i[4];
        for (int x = 0; x < 4; ++x)
          a_i[x] = rounded_to_tf32(a[k / 8 % 2][x / 2][i + x % 2 * (TM / 2)]);
        for (int j = 0; j < TN / 2; ++j) mma_m16n8k8_tf32(sum[i][j], a_i, b_tf32[j]);
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) copies.start(ring[tile]);
  __pipeline_wait_prior(0);
  __syncthreads();
  load(0, 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      // Of 16 x 8 results, a lane has two neighbours in a row, and those 8 rows below.
      const auto result = [&](int x) {
        return sum[i % (TM / 2)][j / 8 * 4 + x][i / (TM / 2) * 2 + j / 4 % 2];
      };
      update4_if_inside<VEC>(
          C, M, N, block_row + row + spread(i, 8),
          block_col + warp_col + lane % 4 * 8 + j / 8 * 32 + j % 8, alpha,
          float4{result(0), result(1), result(2), result(3)}, beta);
    }
  }
}

constexpr Tile kOfFragments[] = {
    {.BM = 128, .BN = 256, .BK = 16, .WM = 64, .WN = 64, .TM = 8, .TN = 16, .STAGES = 4},
    {64, 128, 16, 32, 64, 4, 16, 4, true},
    {64, 64, 16, 32, 32, 4, 8, 4, true}};
template <Tile t, int VEC>
using TensorCores =
    Of<tensor_cores<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>,
       OfFragments<t, VEC, Tiles<t.BM + 8, t.BN + 8, t.BK>>>;

// From stage 13 on, rows of A stay rows, so that both tiles are copied in chunks of 16 bytes. All
// rows of a tile start in the same bank, and a warp reads the same columns of several rows at once.
// So the chunks of a row change places: chunk c of row r lies at c ^ r % 8. `swizzled` returns
// where the float of a column lies in its row.
template <int BM, int BN, int BK>
struct SwizzledTiles {
  float A[BM][BK];
  float B[BK][BN];
};
__device__ constexpr int swizzled(int col, int row) {
  return col ^ row % 8 * 4;
}

// Stage 13: ldmatrix
// A's tile was transposed, float by float. Now it is copied as it is, four floats at a time, and
// ldmatrix spreads it: each lane names a row, and the warp reads 16 bytes of each and hands their
// words out just as mma wants them. Eight rows are read at once, so the tiles are swizzled. B stays
// as it was, for ldmatrix cannot transpose floats.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) ldmatrix_fragments(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(128) float4 shared[];
  const auto ring = reinterpret_cast<SwizzledTiles<BM, BN, BK>*>(shared);  // (STAGES)

  const auto [block_row, block_col] = corner_of<BM, BN>(blockIdx.x, M, N);  // C's tile (BM, BN)
  const int thread = threadIdx.x, lane = thread % 32;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  // And where the first elements are that this thread loads. A's next 8 columns are at `a_col` XOR
  // 8, 16 and 24; the rows of B with 4 more in their number have their columns at `col` XOR 16.
  const int row = warp_row + lane % 16, a_col = swizzled(lane / 16 * 4, row);
  const int col = warp_col + swizzled(lane / 8 * 4 + lane / 4 % 2 * 16, lane % 4);

  const int tiles = max(1, ceil_div(K, BK));  // if K is 0, one tile of zeros
  const int A_m = VEC * thread / BK, A_k = VEC * thread % BK, A_row = block_row + A_m;
  const int B_k = VEC * thread / BN, B_n = VEC * thread % BN;
  const float* from_A = A + A_k;  // what this thread copies next
  const float* from_B = B + offset(B_k, min(block_col + B_n, N - VEC), N);
  const auto start_copies = [&](int tile) {
    auto& [As, Bs] = ring[tile % STAGES];
    for (int i = 0; i < BM; i += VEC * kThreads / BK) {
      const float* const from = from_A + offset(min(A_row + i, M - 1), 0, K);
      cp_async<4 * VEC>(&As[A_m + i][swizzled(A_k, A_m + i)], from, tile * BK + A_k >= K);
    }
    from_A += BK;
    for (int i = 0; i < BK; i += VEC * kThreads / BN) {
      const float* const from = from_B + offset(i, 0, N);
      cp_async<4 * VEC>(&Bs[B_k + i][swizzled(B_n, B_k + i)], from, tile * BK + B_k + i >= K);
    }
    from_B += offset(BK, 0, N);
    __pipeline_commit();
  };

  float sum[TM / 2][TN / 2][4] = {};
  unsigned a[2][TM / 2][4];  // one is multiplied while the other is loaded
  alignas(16) float b[2][2][TN / 2];
  const auto load = [&](int tile, int k) {
    const auto& [As, Bs] = ring[tile % STAGES];
    for (int i = 0; i < TM / 2; ++i) {
      ldmatrix_x4(a[k / 8 % 2][i], &As[row + 16 * i][a_col ^ k]);
    }
    for (int x = 0; x < 2; ++x) {
      float* const b_to = b[k / 8 % 2][x];
      const auto& Bs_k = Bs[k + 4 * x + lane % 4];
      for (int j = 0; j < TN / 2; j += 4)
        as_float4(b_to[j]) = as_float4(Bs_k[(col ^ 16 * x) + 8 * j]);
    }
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      if (k == 0 && copy) start_copies(tile + STAGES - 1);
      if (k + 8 < BK) {
        load(tile, k + 8);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        __pipeline_wait_prior(copy ? STAGES - 2 : 0);
        __syncthreads();
        load(tile + 1, 0);
      }
      unsigned b_tf32[TN / 2][2];
      for (int j = 0; j < TN / 2; ++j) {
        for (int x = 0; x < 2; ++x) b_tf32[j][x] = rounded_to_tf32(b[k / 8 % 2][x][j]);
      }
      for (int i = 0; i < TM / 2; ++i) {
        unsigned a_i[4];
        for (int x = 0; x < 4; ++x) a_i[x] = rounded_to_tf32(__uint_as_float(a[k / 8 % 2][i][x]));
        for (int j = 0; j < TN / 2; ++j) mma_m16n8k8_tf32(sum[i][j], a_i, b_tf32[j]);
      }
    }
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) start_copies(tile);
  __pipeline_wait_prior(0);
  __syncthreads();
  load(0, 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      // Of 16 x 8 results, a lane has two neighbours in a row, and those 8 rows below.
      const auto result = [&](int x) {
        return sum[i % (TM / 2)][j / 8 * 4 + x][i / (TM / 2) * 2 + j / 4 % 2];
      };
      update4_if_inside<VEC>(
          C, M, N, block_row + warp_row + lane / 4 + i % (TM / 2) * 16 + i / (TM / 2) * 8,
          block_col + warp_col + lane % 4 * 4 + j / 8 * 32 + j % 8 * 4, alpha,
          float4{result(0), result(1), result(2), result(3)}, beta);
    }
  }
}

constexpr Tile kSwizzled[] = {
    {.BM = 128, .BN = 256, .BK = 32, .WM = 64, .WN = 64, .TM = 8, .TN = 16, .STAGES = 4},
    {128, 256, 32, 64, 64, 8, 16, 3, false, "-ring3"},
    {128, 256, 32, 64, 64, 8, 16, 2, false, "-ring2"},
    {64, 128, 32, 32, 64, 4, 16, 4, true},
    {64, 64, 32, 32, 32, 4, 8, 4, true}};
template <Tile t, int VEC>
struct LdmatrixFragments : OfFragments<t, VEC, SwizzledTiles<t.BM, t.BN, t.BK>> {
  static_assert(t.BK == 32, "the 8 chunks of a row of A take all 32 banks");
  static constexpr auto kernel =
      ldmatrix_fragments<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>;
};

// From here on, a kernel gets no pointers to A and B, but what the copy engine (TMA) needs to copy
// boxes of them. The engine fills a box with zeros where it reaches beyond the matrix. It rounds to
// tf32. It swizzles a row of at most 128 bytes as above, so B's tile is made of boxes that are 32
// columns wide.
//
// If C has fewer tiles than the GPU has SMs, K can be cut into slices. Then the kernel multiplies
// for a taller matrix: its first `rows` rows are the sums of the first slice, the next those of the
// second slice, `slice_K` further along K, and so on.
struct Maps : OnlyIf, SlicesOfK {
  CUtensorMap A, B;
};
template <int BM, int BN, int BK, class T = float>
struct Boxes {
  T A[BM][BK];
  T B[BN * sizeof(T) / 128][BK][128 / sizeof(T)];
};

// Begins the copies of one tile of A and B. `arrived` counts them, byte by byte.
template <int BM, int BN, int BK, class T>
__device__ inline void copy_boxes(
    Boxes<BM, BN, BK, T>& to, const Maps& maps, int row, int col, int k, std::uint64_t* arrived) {
  mbarrier_arrive_expect_tx(arrived, sizeof to);
  k += row / maps.rows * maps.slice_K;
  cp_async_bulk_tensor_2d(to.A, &maps.A, k, row % maps.rows, arrived);
  for (auto& box : to.B) {
    cp_async_bulk_tensor_2d(box, &maps.B, col, k, arrived);
    col += sizeof box[0] / sizeof(T);
  }
}

// Stage 14: copy engine
// Every thread computed addresses, looked after edges and started copies. Now one thread asks a
// copy engine for whole boxes of A and B. Barriers in shared memory say when: `full` counts the
// bytes that have arrived in a place of the ring, and `empty` the warps that are done with it. A
// wait names a phase, 0 or 1, which changes each time the ring comes round. So a warp waits only
// for the tile that it needs, and not for the other warps.
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN), 1) copy_engine(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<Boxes<BM, BN, BK>(&)[STAGES]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const auto [block_row, block_col] = corner_of<BM, BN>(blockIdx.x, M, N);  // C's tile (BM, BN)
  const int thread = threadIdx.x, lane = thread % 32;
  const int warp_row = thread / 32 / (BN / WN) * WM;  // in it, this warp's tile (WM, WN)
  const int warp_col = thread / 32 % (BN / WN) * WN;
  // And where the first elements are that this thread loads. A's next 8 columns are at `a_col` XOR
  // 8, 16 and 24; the rows of B with 4 more in their number have their columns at `col` XOR 16.
  const int row = warp_row + lane % 16, a_col = swizzled(lane / 16 * 4, row);
  const int col = swizzled(lane / 8 * 4 + lane / 4 % 2 * 16, lane % 4);

  const int tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, kThreads / 32);
  __syncthreads();
  const auto start_copy = [&](int tile) {  // one thread does
    const int place = tile % STAGES;
    if (thread > 0) return;
    mbarrier_wait(&empty[place], tile / STAGES % 2 ^ 1);  // "phase -1" is over from the start
    copy_boxes(ring[place], maps, block_row, block_col, tile * BK, &full[place]);
  };

  float sum[TM / 2][TN / 2][4] = {};
  unsigned a[2][TM / 2][4];  // one is multiplied while the other is loaded
  alignas(16) float b[2][2][TN / 2];
  const auto load = [&](int tile, int k) {
    if (k == 0) mbarrier_wait(&full[tile % STAGES], tile / STAGES % 2);
    const auto& [As, Bs] = ring[tile % STAGES];
    for (int i = 0; i < TM / 2; ++i) {
      ldmatrix_x4(a[k / 8 % 2][i], &As[row + 16 * i][a_col ^ k]);
    }
    for (int x = 0; x < 2; ++x) {
      float* const b_to = b[k / 8 % 2][x];
      for (int j = 0; j < TN / 2; j += 4) {
        const auto& box = Bs[warp_col / 32 + j / 4];
        as_float4(b_to[j]) = as_float4(box[k + 4 * x + lane % 4][col ^ 16 * x]);
      }
    }
  };
  const auto multiply = [&](int tile, bool copy) {
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
      if (k + 8 < BK) {
        load(tile, k + 8);
      } else if (copy || tile + 1 < tiles) {  // the step after this one is the next tile's first
        load(tile + 1, 0);
      }
      unsigned b_tf32[TN / 2][2];
      for (int j = 0; j < TN / 2; ++j) {
        for (int x = 0; x < 2; ++x) b_tf32[j][x] = rounded_to_tf32(b[k / 8 % 2][x][j]);
      }
      for (int i = 0; i < TM / 2; ++i) {
        for (int j = 0; j < TN / 2; ++j) mma_m16n8k8_tf32(sum[i][j], a[k / 8 % 2][i], b_tf32[j]);
      }
    }
    __syncwarp();
    if (lane == 0) mbarrier_arrive(&empty[tile % STAGES]);
    if (copy) start_copy(tile + STAGES - 1);
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) start_copy(tile);
  if (tiles > 0) load(0, 0);
  int tile = 0;
  for (; tile + STAGES - 1 < tiles; ++tile) multiply(tile, true);
  for (; tile < tiles; ++tile) multiply(tile, false);

#pragma unroll
  for (int i = 0; i < TM; ++i) {
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
      // Of 16 x 8 results, a lane has two neighbours in a row, and those 8 rows below.
      const auto result = [&](int x) {
        return sum[i % (TM / 2)][j / 8 * 4 + x][i / (TM / 2) * 2 + j / 4 % 2];
      };
      update4_if_inside<VEC>(
          C, M, N, block_row + warp_row + lane / 4 + i % (TM / 2) * 16 + i / (TM / 2) * 8,
          block_col + warp_col + lane % 4 * 4 + j / 8 * 32 + j % 8 * 4, alpha,
          float4{result(0), result(1), result(2), result(3)}, beta);
    }
  }
}

constexpr Tile kFragmentsInBoxes[] = {
    {.BM = 256, .BN = 128, .BK = 32, .WM = 64, .WN = 64, .TM = 8, .TN = 16, .STAGES = 4},
    {128, 64, 32, 64, 32, 8, 8, 4, true},
    {64, 64, 32, 32, 32, 4, 8, 3, true}};
template <Tile t, int VEC>
using CopyEngine =
    Of<copy_engine<t.BM, t.BN, t.BK, t.WM, t.WN, t.TM, t.TN, t.STAGES, VEC>,
       CopiedInBoxes<t, Boxes<t.BM, t.BN, t.BK>, Multiplier::mma_tf32>>;

// Stage 15: warpgroups
// One instruction of four warps, wgmma, multiplies 64 x 8 by 8 x BM elements, and meanwhile the
// warps go on and load the next fragments. The tensor cores read one operand in shared memory,
// where a descriptor says, and K must be contiguous there, as it is in A's tile. So the kernel
// computes C^T = B^T * A^T, and only B goes to registers. Which columns of it a thread has is up to
// us: two neighbours, loaded at once, so that it also stores two at once.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__(BN / 64 * 128, 1) warpgroups(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  constexpr int kThreads = BN / 64 * 128;
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<Boxes<BM, BN, BK>(&)[STAGES]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const auto [block_row, block_col] = corner_of<BM, BN>(blockIdx.x, M, N);  // C's tile (BM, BN)
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int b_row = lane % 4;  // and the first elements that this thread loads
  const int b_col = warp % 2 * 8 + lane / 16 * 4 + lane / 8 % 2 * 16 + lane / 4 % 2 * 2;

  const int tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, kThreads / 128);
  __syncthreads();
  const auto start_copy = [&](int tile) {  // one thread does
    const int place = tile % STAGES;
    if (thread > 0) return;
    mbarrier_wait(&empty[place], tile / STAGES % 2 ^ 1);  // "phase -1" is over from the start
    copy_boxes(ring[place], maps, block_row, block_col, tile * BK, &full[place]);
  };

  float sum[BM / 2] = {};
  using Fragments = unsigned[BK / 8][4];
  Fragments b[2];  // one is multiplied while the other is loaded
  const auto load = [&](Fragments& to, int tile) {
    mbarrier_wait(&full[tile % STAGES], tile / STAGES % 2);
    const auto& Bs = ring[tile % STAGES].B[warp / 2];
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int row = k + b_row + 4 * x;
        const float2 two = as_float2(Bs[row][swizzled(b_col, row)]);
        to[k / 8][2 * x] = __float_as_uint(two.x);
        to[k / 8][2 * x + 1] = __float_as_uint(two.y);
      }
    }
  };
  const auto multiply = [&](int tile, const Fragments& now, Fragments& next) {
    const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(ring[tile % STAGES].A);
    wgmma_fence();
    // 64 columns of B and 8 of K from registers, times 8 of K and BM rows of A, where the
    // descriptor says. It counts 16 bytes as 1.
#pragma unroll
    for (int k = 0; k < BK; k += 8) wgmma_m64nNk8_tf32(sum, now[k / 8], a + k * 4 / 16);
    wgmma_commit_group();
    wgmma_wait_group<1>();  // the tile before is not read any more
    if (tile > 0 && thread % 128 == 0) mbarrier_arrive(&empty[(tile - 1) % STAGES]);
    if (tile + STAGES - 1 < tiles) start_copy(tile + STAGES - 1);
    if (tile + 1 < tiles) load(next, tile + 1);
  };

  for (int tile = 0; tile < min(tiles, STAGES - 1); ++tile) start_copy(tile);
  if (tiles > 0) load(b[0], 0);
  int tile = 0;
  for (; tile + 1 < tiles; tile += 2) {
    multiply(tile, b[0], b[1]);
    multiply(tile + 1, b[1], b[0]);
  }
  if (tile < tiles) multiply(tile, b[0], b[1]);
  wgmma_wait_group<0>();
  wgmma_fence_operand(sum);

  // sum[i] and sum[i + 2] are neighbours in a row of C, sum[i + 1] is one row down and sum[i + 4]
  // eight.
  const int row = block_row + lane % 4 * 2, col = block_col + warp / 2 * 32 + b_col;
  const auto pair = [&](int i) {
    const float* const first = &sum[i / 2 * 4 + i % 2];
    return Pair{row + i / 2 * 8 + i % 2, col, {first[0], first[2]}};
  };
  update_pairs<VEC, BM / 4>(C, M, N, alpha, pair, beta);
}

constexpr Tile kInBoxes[] = {
    {.BM = 256, .BN = 128, .BK = 32, .STAGES = 4},
    {.BM = 256, .BN = 128, .BK = 32, .STAGES = 3, .suffix = "-ring3"},
    {.BM = 192, .BN = 128, .BK = 32, .STAGES = 4, .for_small = true},
    {.BM = 128, .BN = 128, .BK = 32, .STAGES = 4, .for_small = true},
    {.BM = 64, .BN = 64, .BK = 32, .STAGES = 3, .for_small = true}};
constexpr Tile kFewInBoxes[] = {
    {.BM = 16, .BN = 64, .BK = 32, .STAGES = 8},
    {.BM = 32, .BN = 64, .BK = 32, .STAGES = 8},
    {.BM = 64, .BN = 128, .BK = 32, .STAGES = 6},
    {.BM = 256, .BN = 64, .BK = 32, .STAGES = 3}};
template <Tile t, int VEC>
using Warpgroups =
    Of<warpgroups<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>,
       CopiedInBoxes<with_warps(t, t.BM, 16, 4), Boxes<t.BM, t.BN, t.BK>, Multiplier::wgmma_tf32>>;

// Calls visit(at, corner, tile) for each K tile of each tile of C that this block computes. It
// counts them all with `at`, and with `tile` those of the tile of C at `corner`.
template <int BM, int BN, class Visit>
__device__ inline void for_each_k_tile(int M, int N, int tiles, const Visit& visit) {
  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN);
  int at = 0;
  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const Corner corner = corner_of<BM, BN>(c_tile, M, N);
    for (int tile = 0; tile < tiles; ++tile, ++at) visit(at, corner, tile);
  }
}

// Stage 16: specialized warps
// Blocks that start together also store C together, and the tensor cores idle. Now one block stays
// on each SM and computes one tile of C after the other. Its first warpgroup only has tiles copied:
// those for the next tile of C arrive while the other warps store this one. That costs 128 threads
// which do not multiply. They give their registers away, so the others have 232 instead of 168.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BN / 64 + 1) * 128, 1) specialized_warps(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<Boxes<BM, BN, BK>(&)[STAGES]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, BN / 64);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0) return;
    return for_each_k_tile<BM, BN>(M, N, tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      copy_boxes(ring[place], maps, corner.row, corner.col, tile * BK, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32;
  const int b_row = lane % 4;  // and the first elements that this thread loads
  const int b_col = warp % 2 * 8 + lane / 16 * 4 + lane / 8 % 2 * 16 + lane / 4 % 2 * 2;
  using Fragments = unsigned[BK / 8][4];
  Fragments b[2];  // one is multiplied while the other is loaded
  const auto load = [&](Fragments& to, int at) {
    mbarrier_wait(&full[at % STAGES], at / STAGES % 2);
    const auto& Bs = ring[at % STAGES].B[warp / 2];
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int row = k + b_row + 4 * x;
        const float2 two = as_float2(Bs[row][swizzled(b_col, row)]);
        to[k / 8][2 * x] = __float_as_uint(two.x);
        to[k / 8][2 * x + 1] = __float_as_uint(two.y);
      }
    }
  };
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[BM / 2] = {};
    const auto multiply = [&](int tile, const Fragments& now, Fragments& next) {
      const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(ring[reads % STAGES].A);
      wgmma_fence();
      // 64 columns of B and 8 of K from registers, times 8 of K and BM rows of A, where the
      // descriptor says. It counts 16 bytes as 1.
#pragma unroll
      for (int k = 0; k < BK; k += 8) wgmma_m64nNk8_tf32(sum, now[k / 8], a + k * 4 / 16);
      wgmma_commit_group();
      wgmma_wait_group<1>();  // the tile before is not read any more
      if (tile > 0) release(reads - 1);
      ++reads;
      if (tile + 1 < tiles) load(next, reads);
    };
    if (tiles > 0) load(b[0], reads);
    int tile = 0;
    for (; tile + 1 < tiles; tile += 2) {
      multiply(tile, b[0], b[1]);
      multiply(tile + 1, b[1], b[0]);
    }
    if (tile < tiles) multiply(tile, b[0], b[1]);
    wgmma_wait_group<0>();
    wgmma_fence_operand(sum);
    if (tiles > 0) release(reads - 1);

    // sum[i] and sum[i + 2] are neighbours in a row of C, sum[i + 1] is one row down and sum[i + 4]
    // eight.
    const int row = block_row + lane % 4 * 2, col = block_col + warp / 2 * 32 + b_col;
    const auto pair = [&](int i) {
      const float* const first = &sum[i / 2 * 4 + i % 2];
      return Pair{row + i / 2 * 8 + i % 2, col, {first[0], first[2]}};
    };
    update_pairs<VEC, BM / 4>(C, M, N, alpha, pair, beta);
  }
}

template <Tile t, int VEC>
using SpecializedWarps =
    Of<specialized_warps<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>,
       Specialized<Warpgroups<t, VEC>>>;

// Variant bf16-128x256x64 of stage 16: the same with bf16
// A bf16 is the upper half of a float, so a row of a box holds twice as many elements, and wgmma
// multiplies twice as many in the same time. If elements have 16 bits, it can read both operands in
// shared memory as they lie there, even B, in which k runs from row to row ("transposed"). So no
// thread loads fragments, and C^T is not needed. A and B were rounded to bf16 before the kernel.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 64 + 1) * 128, 1) specialized_warps_bf16(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<Boxes<BM, BN, BK, __nv_bfloat16>(&)[STAGES]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, BM / 64);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0) return;
    return for_each_k_tile<BM, BN>(M, N, tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      copy_boxes(ring[place], maps, corner.row, corner.col, tile * BK, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32;
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[BN / 2] = {};
    for (int tile = 0; tile < tiles; ++tile, ++reads) {
      mbarrier_wait(&full[reads % STAGES], reads / STAGES % 2);
      const auto& [As, Bs] = ring[reads % STAGES];
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
      wgmma_wait_group<1>();  // the tile before is not read any more
      if (tile > 0) release(reads - 1);
    }
    wgmma_wait_group<0>();
    wgmma_fence_operand(sum);
    if (tiles > 0) release(reads - 1);

    // sum[i] and sum[i + 1] are neighbours in a row of C, sum[i + 2] is eight rows down and
    // sum[i + 4] eight columns to the right.
    const int row = block_row + warp * 16 + lane / 4, col = block_col + lane % 4 * 2;
    const auto pair = [&](int i) {
      return Pair{row + i % 2 * 8, col + i / 2 * 8, {sum[2 * i], sum[2 * i + 1]}};
    };
    update_pairs<VEC, BN / 4>(C, M, N, alpha, pair, beta);
  }
}

constexpr Tile kBf16InBoxes[] = {{.BM = 128, .BN = 256, .BK = 64, .STAGES = 4}};
template <Tile t, int VEC>
struct SpecializedWarpsBf16
    : Specialized<CopiedInBoxes<
          with_warps(t, 16, t.BN, 8), Boxes<t.BM, t.BN, t.BK, __nv_bfloat16>,
          Multiplier::wgmma_bf16, 2>> {
  static constexpr auto kernel = specialized_warps_bf16<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>;
  static constexpr const char* name = "bf16-128x256x64";
  static constexpr auto contrast = &lesson::kWithBf16;
};

// What the tensor core ignores of x, as a tf32 number: x = high + low, where the tensor core sees
// `high` in the bits of x itself. An infinity has no low part: it gives a NaN.
__device__ inline float low_part(float x) {
  return __uint_as_float(rounded_to_tf32(x - __uint_as_float(__float_as_uint(x) & 0xffffe000)));
}

// A place in stage 17's ring also has the low parts of A.
template <int BM, int BN, int BK>
struct SplitBoxes : Boxes<BM, BN, BK> {
  float A_low[BM][BK];
};

// Stage 17: fp32 from tf32 parts
// An fp32 number has 24 bits, and a tf32 number 11. Two of them hold nearly all of a float, and
// three products nearly all of a product: (a + a_low) * (b + b_low) without the smallest. Three
// warps make the low parts of A, and each thread those of its fragments of B. The tensor cores cut
// off where an FFMA rounds, so a long sum would lose too much. Here they add only the products of
// one K tile, the smallest first, and FADDs add these sums.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BN / 64 + 1) * 128, 1) tf32_parts(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  if (!is_to_run(maps)) return;
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<SplitBoxes<BM, BN, BK>(&)[STAGES]>(boxes);
  __shared__ std::uint64_t full[STAGES], split_up[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(split_up, 3);
  initialize(empty, BN / 64);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0 && threadIdx.x < 32) return;
    return for_each_k_tile<BM, BN>(M, N, tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      if (threadIdx.x >= 32) {  // three warps make the low parts, each where its element stands
        mbarrier_wait(&full[place], at / STAGES % 2);
        const float4* __restrict__ const whole = &as_float4(ring[place].A[0][0]);
        float4* __restrict__ const low = &as_float4(ring[place].A_low[0][0]);
#pragma unroll 2
        for (int i = threadIdx.x - 32; i < BM * BK / 4; i += 96) {
          const float4 a = whole[i];
          low[i] = {low_part(a.x), low_part(a.y), low_part(a.z), low_part(a.w)};
        }
        fence_proxy_async();  // the tensor cores read what these threads have stored
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(&split_up[place]);
        return;
      }
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      copy_boxes(ring[place], maps, corner.row, corner.col, tile * BK, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32;
  const int b_row = lane % 4;  // and the first elements that this thread loads
  const int b_col = warp % 2 * 8 + lane / 16 * 4 + lane / 8 % 2 * 16 + lane / 4 % 2 * 2;
  using Fragments = unsigned[2][BK / 8][4];
  Fragments b[2];  // one is multiplied while the other is loaded
  const auto load = [&](Fragments& to, int at) {
    mbarrier_wait(&full[at % STAGES], at / STAGES % 2);
    mbarrier_wait(&split_up[at % STAGES], at / STAGES % 2);
    const auto& Bs = ring[at % STAGES].B[warp / 2];
#pragma unroll
    for (int k = 0; k < BK; k += 8) {
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const int row = k + b_row + 4 * x;
        const float2 two = as_float2(Bs[row][swizzled(b_col, row)]);
        to[0][k / 8][2 * x] = __float_as_uint(two.x);
        to[0][k / 8][2 * x + 1] = __float_as_uint(two.y);
        to[1][k / 8][2 * x] = __float_as_uint(low_part(two.x));
        to[1][k / 8][2 * x + 1] = __float_as_uint(low_part(two.y));
      }
    }
  };
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[BM / 2] = {}, partial[BM / 2] = {};
    const auto multiply = [&](int tile, const Fragments& now, Fragments& next) {
      const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(ring[reads % STAGES].A);
      const std::uint64_t a_low = wgmma_descriptor_of_swizzled_tile(ring[reads % STAGES].A_low);
      wgmma_fence();
      // The smallest products first: a_low * b, which sets `partial`, then a * b_low, then a * b.
#pragma unroll
      for (int k = 0; k < 3 * BK; k += 8)
        wgmma_m64nNk8_tf32(
            partial, now[k / BK == 1][k % BK / 8], (k < BK ? a_low : a) + k % BK * 4 / 16, k > 0);
      wgmma_commit_group();
      ++reads;
      if (tile + 1 < tiles) load(next, reads);
      wgmma_wait_group<0>();
      wgmma_fence_operand(partial);
      release(reads - 1);
#pragma unroll
      for (int i = 0; i < BM / 2; ++i) sum[i] += partial[i];
    };
    if (tiles > 0) load(b[0], reads);
    int tile = 0;
    for (; tile + 1 < tiles; tile += 2) {
      multiply(tile, b[0], b[1]);
      multiply(tile + 1, b[1], b[0]);
    }
    if (tile < tiles) multiply(tile, b[0], b[1]);

    // sum[i] and sum[i + 2] are neighbours in a row of C, sum[i + 1] is one row down and sum[i + 4]
    // eight.
    const int row = block_row + lane % 4 * 2, col = block_col + warp / 2 * 32 + b_col;
    const auto pair = [&](int i) {
      const float* const first = &sum[i / 2 * 4 + i % 2];
      return Pair{row + i / 2 * 8 + i % 2, col, {first[0], first[2]}};
    };
    update_pairs<VEC, BM / 4>(C, M, N, alpha, pair, beta);
  }
}

constexpr Tile kSplitInBoxes[] = {
    {.BM = 128, .BN = 128, .BK = 32, .STAGES = 4},
    {.BM = 128, .BN = 128, .BK = 32, .STAGES = 3, .suffix = "-ring3"},
    {.BM = 64, .BN = 64, .BK = 32, .STAGES = 4, .for_small = true},
    {.BM = 64, .BN = 64, .BK = 32, .STAGES = 2, .suffix = "-ring2"}};
constexpr Tile kFewSplit[] = {
    {.BM = 16, .BN = 128, .BK = 32, .STAGES = 6},
    {.BM = 32, .BN = 128, .BK = 32, .STAGES = 6},
    {.BM = 64, .BN = 128, .BK = 32, .STAGES = 6},
    {.BM = 128, .BN = 64, .BK = 32, .STAGES = 4}};
template <Tile t, int VEC>
using Tf32Parts =
    Of<tf32_parts<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>,
       Specialized<CopiedInBoxes<
           with_warps(t, t.BM, 16, 4), SplitBoxes<t.BM, t.BN, t.BK>, Multiplier::wgmma_3xtf32>>>;

// From here on, the kernels multiply copies of A and B, which a kernel before them makes. They have
// a line for each row of A, and behind these one for each column of B. A line has 32 high parts,
// then the 32 low parts of the same numbers, and so on along K, up to a whole number of pieces of
// 64 numbers. So kSpan halves, 128 bytes, hold both parts of 32 numbers. A place in the ring has
// that much of each of BM + BN lines.
constexpr int kPiece = 64, kPartK = 32, kSpan = 2 * kPartK;

// The unit of the parts: with it, fp16's largest number is 64. And the tensor cores cut off, so
// that sums lose about 2^-23 of themselves. `kCutOff` makes up for it: of stage 19's error for
// positive numbers, it leaves 0.39 with K = 1024, and 0.68 with 8192 (results/tensor-log.md).
constexpr float kUnit = 0x1p-10f, kCutOff = 1 + 0x1p-23f;

// Splits A and B: a block has a piece of 64 lines, and a warp one of them at a time, two numbers
// per lane. Columns of B become lines on their way through shared memory.
__global__ void __launch_bounds__(256)
    split_matrices(int M, int N, int K, const float* A, const float* B, __half2* lines) {
  __shared__ __align__(8) float tile[kPiece][kPiece + 2];
  const int pieces = ceil_div(K, kPiece), piece = blockIdx.x % pieces, block = blockIdx.x / pieces;
  const bool of_A = block < ceil_div(M, kPiece);
  const int first = kPiece * (block - (of_A ? 0 : ceil_div(M, kPiece))), k0 = kPiece * piece;
  griddepcontrol_wait();  // nobody reads the lines of the last launch any more
#pragma unroll
  for (int i = 0; i < kPiece; i += 4) {
    const int y = i + threadIdx.x / kPiece, x = threadIdx.x % kPiece;
    if (of_A) tile[y][x] = load_or_zero(A, M, K, first + y, k0 + x);
    if (!of_A) tile[x][y] = load_or_zero(B, K, N, k0 + y, first + x);
  }
  __syncthreads();
  // In `lines`, 16 pairs of high parts and their 16 pairs of low parts follow each other.
  const int lane = threadIdx.x % 32, at = lane + lane / 16 * 16;
#pragma unroll
  for (int y = threadIdx.x / 32; y < kPiece && first + y < (of_A ? M : N); y += 8) {
    const float2 x = as_float2(tile[y][2 * lane]), in_units = {x.x / kUnit, x.y / kUnit};
    const __half2 high = __floats2half2_rn(in_units.x, in_units.y);
    const float2 nearest = __half22float2(high);
    __half2* const to = lines + kPiece * offset(kPiece * block + y, piece, pieces) + at;
    to[0] = high;
    to[kPartK / 2] = __floats2half2_rn(in_units.x - nearest.x, in_units.y - nearest.y);
  }
}

// Stage 18: fp32 from fp16 parts
// Products of fp16 cost half of those of tf32. And with both parts of both matrices in memory, the
// kernel only has to multiply, as the variant for bf16 does: low * high, high * low and high *
// high, all from shared memory. All lines run along K, so neither operand is transposed. As in
// stage 17, the sums of one K tile are added up outside of the tensor cores.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 64 + 1) * 128, 1) fp16_parts(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  // This kernel starts early, behind the split, and waits for it to end.
  griddepcontrol_wait();
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<__half(&)[STAGES][BM + BN][kSpan]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, BM / 64);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0) return;
    return for_each_k_tile<BM, BN>(M, N, tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      mbarrier_arrive_expect_tx(&full[place], sizeof ring[place]);
      cp_async_bulk_tensor_2d(ring[place][0], &maps.A, kSpan * tile, corner.row, &full[place]);
      cp_async_bulk_tensor_2d(ring[place][BM], &maps.B, kSpan * tile, corner.col, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32;
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[BN / 2] = {}, partial[BN / 2];
    for (int tile = 0; tile < tiles; ++tile, ++reads) {
      mbarrier_wait(&full[reads % STAGES], reads / STAGES % 2);
      wgmma_fence();
      // 64 rows of A and 16 of K, times 16 of K and BN columns of B: low * high, then high * low,
      // then high * high. The next 16 of K are 32 bytes further in each line.
#pragma unroll
      for (int k = 0; k < 3 * BK; k += 16) {
        const auto& lines = ring[(reads + k % BK / kPartK) % STAGES];
        const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(lines[warp / 4 * 64]);
        const std::uint64_t b = wgmma_descriptor_of_swizzled_tile(lines[BM]);
        const int low_a = k < BK ? kPartK : 0, low_b = k / BK == 1 ? kPartK : 0, at = k % kPartK;
        wgmma_m64nNk16_f16(partial, a + (low_a + at) * 2 / 16, b + (low_b + at) * 2 / 16, k > 0);
      }
      wgmma_commit_group();
      wgmma_wait_group<0>();
      wgmma_fence_operand(partial);
      release(reads);
#pragma unroll
      for (int i = 0; i < BN / 2; ++i) sum[i] = fmaf(partial[i], kUnit * kUnit * kCutOff, sum[i]);
    }

    // sum[i] and sum[i + 1] are neighbours in a row of C, sum[i + 2] is eight rows down and
    // sum[i + 4] eight columns to the right.
    const int row = block_row + warp * 16 + lane / 4, col = block_col + lane % 4 * 2;
    const auto pair = [&](int i) {
      return Pair{row + i % 2 * 8, col + i / 2 * 8, {sum[2 * i], sum[2 * i + 1]}};
    };
    update_pairs<VEC, BN / 4>(C, M, N, alpha, pair, beta);
  }
}

// What the kernels of parts have in common; a warpgroup has WM rows.
template <Tile t, int WM, bool HAS_UNITS = false>
struct OfParts
    : Specialized<InRing<Launch<with_warps(t, WM / 4, t.BN, 8)>, __half[t.BM + t.BN][kSpan]>> {
  static_assert(t.BM <= 256 && t.BN <= 256, "a box has at most 256 lines");
  static_assert(t.STAGES * kPartK >= 2 * t.BK, "one K tile arrives while another is read");
  static_assert(WM != 64 || t.BK == kPartK, "a K tile is one place in the ring");
  static_assert(WM != 128 || t.BM == 256, "two warpgroups take turns");
  static_assert(!HAS_UNITS || t.BK == kPiece, "the units of A are those of pieces");
  static constexpr int pipeline = t.STAGES * kPartK / t.BK - 1;
  static constexpr auto multiplier = Multiplier::wgmma_3xf16;
  static constexpr bool has_maps = true, has_units = HAS_UNITS;
};
constexpr Tile kPartsInBoxes[] = {{.BM = 128, .BN = 128, .BK = kPartK, .STAGES = 4}};
template <Tile t, int VEC>
using Fp16Parts = Of<fp16_parts<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>, OfParts<t, 64>>;

// Stage 19: taking turns
// Both warpgroups multiplied at the same time, and could add up at the same time, while the
// tensor cores idled. Now they take turns: while the tensor cores work for one, the other adds up.
// And a warpgroup computes one half of its rows after the other. So it has twice as many sums, and
// still has registers for those of a K tile, which is now two places in the ring.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 128 + 1) * 128, 1) taking_turns(
    int M, int N, int K, float alpha, const __grid_constant__ Maps maps, float beta, float* C) {
  // This kernel starts early, behind the split, and waits for it to end.
  griddepcontrol_wait();
  constexpr int kPlaces = BK / kPartK;             // in the ring, for a K tile
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<__half(&)[STAGES][BM + BN][kSpan]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, BM / 128);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0) return;
    return for_each_k_tile<BM, BN>(M, N, kPlaces * tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      mbarrier_arrive_expect_tx(&full[place], sizeof ring[place]);
      cp_async_bulk_tensor_2d(ring[place][0], &maps.A, kSpan * tile, corner.row, &full[place]);
      cp_async_bulk_tensor_2d(ring[place][BM], &maps.B, kSpan * tile, corner.col, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32, group = warp / 4;
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };
  // Barrier 1 lets the first warpgroup multiply, and barrier 2 the second.
  constexpr int kBoth = 256;
  if (group == 1) bar_arrive(1, kBoth);

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[2][BN / 2] = {}, partial[BN / 2];
    const int row = block_row + group * 128 + warp % 4 * 16 + lane / 4;
    const int col = block_col + lane % 4 * 2;
    for (int tile = 0; tile < tiles; ++tile, reads += kPlaces) {
#pragma unroll
      for (int at = reads; at < reads + kPlaces; ++at) {
        mbarrier_wait(&full[at % STAGES], at / STAGES % 2);
      }
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        bar_sync(1 + group, kBoth);
        wgmma_fence();
        // 64 rows of A and 16 of K, times 16 of K and BN columns of B: low * high, then high * low,
        // then high * high. The next 16 of K are 32 bytes further in each line.
#pragma unroll
        for (int k = 0; k < 3 * BK; k += 16) {
          const auto& lines = ring[(reads + k % BK / kPartK) % STAGES];
          const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(lines[group * 128 + side * 64]);
          const std::uint64_t b = wgmma_descriptor_of_swizzled_tile(lines[BM]);
          const int low_a = k < BK ? kPartK : 0, low_b = k / BK == 1 ? kPartK : 0, at = k % kPartK;
          wgmma_m64nNk16_f16(partial, a + (low_a + at) * 2 / 16, b + (low_b + at) * 2 / 16, k > 0);
        }
        wgmma_commit_group();
        bar_arrive(2 - group, kBoth);
        wgmma_wait_group<0>();
        wgmma_fence_operand(partial);
        for (int at = reads; at < reads + kPlaces && side == 1; ++at) release(at);
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
          sum[side][i] = fmaf(partial[i], kUnit * kUnit * kCutOff, sum[side][i]);
        }
      }
    }

    // In each half, sum[i] and sum[i + 1] are neighbours in a row of C, sum[i + 2] is eight rows
    // down and sum[i + 4] eight columns to the right.
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const auto pair = [&](int i) {
        const float* const first = &sum[side][2 * i];
        return Pair{row + side * 64 + i % 2 * 8, col + i / 2 * 8, {first[0], first[1]}};
      };
      update_pairs<VEC, BN / 4>(C, M, N, alpha, pair, beta);
    }
  }
}

constexpr Tile kPiecesInBoxes[] = {{.BM = 256, .BN = 128, .BK = kPiece, .STAGES = 4}};
template <Tile t, int VEC>
using TakingTurns = Of<taking_turns<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>, OfParts<t, 128>>;

// |x| as an integer: these have the same order, with infinity and NaN at the end.
__device__ inline int magnitude(float x) {
  return __float_as_int(fabsf(x));
}
// The power of two that makes the largest magnitude 2^14 to 2^15 units: fp16 ends at 2^16. Beyond
// 2^80 or 2^-80 it stays, so that no product of two units leaves the range.
__device__ inline float unit_for(int largest) {
  return __int_as_float((min(max(largest >> 23, 127 - 80), 127 + 80) - 14) << 23);
}

// Finds the unit of each column of B. A block has 32 columns, and each of its warps reads every
// 32nd row of them.
__global__ void __launch_bounds__(1024) find_units(int N, int K, const float* B, float* units_B) {
  __shared__ int largest[32][33];  // (column, warp)
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = 32 * blockIdx.x;
  griddepcontrol_wait();               // nobody reads the units of the last launch any more
  griddepcontrol_launch_dependents();  // A can be split at the same time
  int own = 0;
#pragma unroll 16
  for (int k = warp; k < K; k += 32)
    own = max(own, magnitude(load_or_zero(B, K, N, k, first + lane)));
  largest[lane][warp] = own;
  __syncthreads();
  own = __reduce_max_sync(~0u, largest[warp][lane]);
  if (lane == 0 && first + warp < N) units_B[first + warp] = unit_for(own);
}

// Splits A and B as before, in units of their own. A piece of a row of A has a unit, and a column
// of B has one for all of K.
__global__ void __launch_bounds__(256) split_in_units(
    int M, int N, int K, const float* A, const float* B, __half2* lines, float* units_A,
    const float* units_B) {
  __shared__ __align__(8) float tile[kPiece][kPiece + 2];
  const int pieces = ceil_div(K, kPiece), piece = blockIdx.x % pieces, block = blockIdx.x / pieces;
  const bool of_A = block < ceil_div(M, kPiece);
  const int first = kPiece * (block - (of_A ? 0 : ceil_div(M, kPiece))), k0 = kPiece * piece;
#pragma unroll
  for (int i = 0; i < kPiece; i += 4) {
    const int y = i + threadIdx.x / kPiece, x = threadIdx.x % kPiece;
    if (of_A) tile[y][x] = load_or_zero(A, M, K, first + y, k0 + x);
    if (!of_A) tile[x][y] = load_or_zero(B, K, N, k0 + y, first + x);
  }
  __syncthreads();
  if (!of_A) griddepcontrol_wait();  // for the units
  // In `lines`, 16 pairs of high parts and their 16 pairs of low parts follow each other.
  const int lane = threadIdx.x % 32, at = lane + lane / 16 * 16;
#pragma unroll
  for (int y = threadIdx.x / 32; y < kPiece && first + y < (of_A ? M : N); y += 8) {
    const float2 x = as_float2(tile[y][2 * lane]);
    const int largest = __reduce_max_sync(~0u, max(magnitude(x.x), magnitude(x.y)));
    const float unit = of_A ? unit_for(largest) : units_B[first + y];
    if (of_A && lane == 0) units_A[offset(piece, first + y, M)] = unit;
    const float2 in_units = {x.x * (1 / unit), x.y * (1 / unit)};
    const __half2 high = __floats2half2_rn(in_units.x, in_units.y);
    const float2 nearest = __half22float2(high);
    __half2* const to = lines + kPiece * offset(kPiece * block + y, piece, pieces) + at;
    to[0] = high;
    to[kPartK / 2] = __floats2half2_rn(in_units.x - nearest.x, in_units.y - nearest.y);
  }
}

// A's units are those of its rows and pieces, (K / 64, M), and B's those of its columns, (N).
struct UnitMaps : Maps {
  const float *units_A, *units_B;
};

// Stage 20: scaled parts
// With one unit for all, a number of 64 or more becomes an infinity, and one below 2^-12 loses
// bits. So numbers get units of their own, powers of two. Those of A's rows change from piece to
// piece, and the FFMAs that add up a piece multiply by them: there are only two rows per thread and
// half. For the many columns, the sums are multiplied once, at the end.
template <int BM, int BN, int BK, int STAGES, int VEC>
__device__ void multiply_scaled_parts(
    int M, int N, int K, float alpha, const UnitMaps& maps, float beta, float* C) {
  // This kernel starts early, behind the split, and waits for it to end.
  griddepcontrol_wait();
  constexpr int kPlaces = BK / kPartK;             // in the ring, for a K tile
  extern __shared__ __align__(1024) char boxes[];  // a swizzled box starts at such an address
  auto& ring = reinterpret_cast<__half(&)[STAGES][BM + BN][kSpan]>(boxes);
  __shared__ std::uint64_t full[STAGES], empty[STAGES];

  const int c_tiles = ceil_div(M, BM) * ceil_div(N, BN), tiles = ceil_div(K, BK);
  initialize(full, 1);
  initialize(empty, BM / 128);
  __syncthreads();
  int reads = 0;  // places read so far, for all tiles of C

  if (threadIdx.x < 128) {
    setmaxnreg_dec<40>();  // the registers that this warpgroup gives back go to the others
    if (threadIdx.x > 0) return;
    return for_each_k_tile<BM, BN>(M, N, kPlaces * tiles, [&](int at, Corner corner, int tile) {
      const int place = at % STAGES;
      mbarrier_wait(&empty[place], at / STAGES % 2 ^ 1);  // "phase -1" is over from the start
      mbarrier_arrive_expect_tx(&full[place], sizeof ring[place]);
      cp_async_bulk_tensor_2d(ring[place][0], &maps.A, kSpan * tile, corner.row, &full[place]);
      cp_async_bulk_tensor_2d(ring[place][BM], &maps.B, kSpan * tile, corner.col, &full[place]);
    });
  }
  setmaxnreg_inc<232>();

  const int thread = threadIdx.x - 128, warp = thread / 32, lane = thread % 32, group = warp / 4;
  const auto release = [&](int at) {
    if (thread % 128 == 0) mbarrier_arrive(&empty[at % STAGES]);
  };
  // Barrier 1 lets the first warpgroup multiply, and barrier 2 the second.
  constexpr int kBoth = 256;
  if (group == 1) bar_arrive(1, kBoth);

  for (int c_tile = blockIdx.x; c_tile < c_tiles; c_tile += gridDim.x) {
    const auto [block_row, block_col] = corner_of<BM, BN>(c_tile, M, N);
    float sum[2][BN / 2] = {}, partial[BN / 2];
    const int row = block_row + group * 128 + warp % 4 * 16 + lane / 4;
    const int col = block_col + lane % 4 * 2;
    for (int tile = 0; tile < tiles; ++tile, reads += kPlaces) {
#pragma unroll
      for (int at = reads; at < reads + kPlaces; ++at) {
        mbarrier_wait(&full[at % STAGES], at / STAGES % 2);
      }
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        float units[2];  // of the two rows of A that this thread has in this half
        for (int i = 0; i < 2; ++i)
          units[i] = kCutOff * load_or_zero(maps.units_A, tiles, M, tile, row + side * 64 + 8 * i);
        bar_sync(1 + group, kBoth);
        wgmma_fence();
        // 64 rows of A and 16 of K, times 16 of K and BN columns of B: low * high, then high * low,
        // then high * high. The next 16 of K are 32 bytes further in each line.
#pragma unroll
        for (int k = 0; k < 3 * BK; k += 16) {
          const auto& lines = ring[(reads + k % BK / kPartK) % STAGES];
          const std::uint64_t a = wgmma_descriptor_of_swizzled_tile(lines[group * 128 + side * 64]);
          const std::uint64_t b = wgmma_descriptor_of_swizzled_tile(lines[BM]);
          const int low_a = k < BK ? kPartK : 0, low_b = k / BK == 1 ? kPartK : 0, at = k % kPartK;
          wgmma_m64nNk16_f16(partial, a + (low_a + at) * 2 / 16, b + (low_b + at) * 2 / 16, k > 0);
        }
        wgmma_commit_group();
        bar_arrive(2 - group, kBoth);
        wgmma_wait_group<0>();
        wgmma_fence_operand(partial);
        for (int at = reads; at < reads + kPlaces && side == 1; ++at) release(at);
#pragma unroll
        for (int i = 0; i < BN / 2; ++i) {
          sum[side][i] = fmaf(partial[i], units[i / 2 % 2], sum[side][i]);
        }
      }
    }

#pragma unroll
    for (int c = 0; c < BN / 4; ++c) {  // this thread's columns, each with four rows
      const float unit = load_or_zero(maps.units_B, 1, N, 0, col + c / 2 * 8 + c % 2);
      for (int x = 0; x < 4; ++x) sum[x / 2][c / 2 * 4 + x % 2 * 2 + c % 2] *= unit;
    }
    // In each half, sum[i] and sum[i + 1] are neighbours in a row of C, sum[i + 2] is eight rows
    // down and sum[i + 4] eight columns to the right.
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const auto pair = [&](int i) {
        const float* const first = &sum[side][2 * i];
        return Pair{row + side * 64 + i % 2 * 8, col + i / 2 * 8, {first[0], first[1]}};
      };
      update_pairs<VEC, BN / 4>(C, M, N, alpha, pair, beta);
    }
  }
}
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 128 + 1) * 128, 1) scaled_parts(
    int M, int N, int K, float alpha, const __grid_constant__ UnitMaps maps, float beta, float* C) {
  multiply_scaled_parts<BM, BN, BK, STAGES, VEC>(M, N, K, alpha, maps, beta, C);
}

template <Tile t, int VEC>
using ScaledParts =
    Of<scaled_parts<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>, OfParts<t, 128, true>>;

// What the parts may lose. Together they have 22 bits and a sign, one bit less than a float. Below
// 2^-2 units they end at 2^-24 units, and half of that may be lost. This matters if the other
// factor is large and the rest of the sum is small, so each small number needs a large product
// beside it. Let the `strong` numbers exceed the small ones by half of a piece, in a row of A and
// in a column of B. Then at least as many k have two strong factors as there are small numbers.
// The first two bits of the doubts: some number is small, and some piece has too few strong numbers
// to make up for that. Both are set if a number is too large for fp16. The third: some number is
// infinite, a NaN, or so small that two tf32 parts cannot hold it either, since they end at 2^-136.
constexpr unsigned kDoubtful = 3, kBeyondParts = 4, kAllDoubts = 7;
__device__ inline bool is_beyond_parts(float x) {
  return !(fabsf(x) < INFINITY) || (x != 0 && fabsf(x) < 0x1p-114f);
}
__device__ inline unsigned doubts_about(float2 x, float2 in_units, int numbers) {
  const float2 size = {fabsf(in_units.x), fabsf(in_units.y)};
  const unsigned beyond = is_beyond_parts(x.x) || is_beyond_parts(x.y) ? kBeyondParts : 0;
  const int strong = (size.x >= 0x1p7f) + (size.y >= 0x1p7f);
  const int small = (x.x != 0 && size.x < 0x1p-2f) + (x.y != 0 && size.y < 0x1p-2f);
  const int more = __reduce_add_sync(~0u, strong - small);  // of the warp's numbers
  if (!(size.x < 0x1p15f && size.y < 0x1p15f)) return kDoubtful | beyond;
  return (small > 0 ? 1 : 0) | (2 * more < numbers ? 2 : 0) | beyond;
}

// Splits A and B as before, and judges each piece of a line. The last piece begins 64 before the
// end of K, so that it can be judged like the others. What it shares with the one before becomes 0.
__global__ void __launch_bounds__(256) split_and_judge(
    int M, int N, int K, const float* A, const float* B, __half2* lines, float* units_A,
    const float* units_B, unsigned* doubts, unsigned* next_doubts) {
  __shared__ __align__(8) float tile[kPiece][kPiece + 2];
  const int pieces = ceil_div(K, kPiece), piece = blockIdx.x % pieces, block = blockIdx.x / pieces;
  const bool of_A = block < ceil_div(M, kPiece);
  const int first = kPiece * (block - (of_A ? 0 : ceil_div(M, kPiece)));
  const int k0 = max(0, min(kPiece * piece, K - kPiece)), shared = kPiece * piece - k0;
  if (blockIdx.x + threadIdx.x == 0) *next_doubts = 0;
  unsigned found = 0;
#pragma unroll
  for (int i = 0; i < kPiece; i += 4) {
    const int y = i + threadIdx.x / kPiece, x = threadIdx.x % kPiece;
    if (of_A) tile[y][x] = load_or_zero(A, M, K, first + y, k0 + x);
    if (!of_A) tile[x][y] = load_or_zero(B, K, N, k0 + y, first + x);
  }
  __syncthreads();
  if (!of_A) griddepcontrol_wait();  // for the units
  // In `lines`, 16 pairs of high parts and their 16 pairs of low parts follow each other.
  const int lane = threadIdx.x % 32, at = lane + lane / 16 * 16;
#pragma unroll
  for (int y = threadIdx.x / 32; y < kPiece && first + y < (of_A ? M : N); y += 8) {
    const float2 x = as_float2(tile[y][2 * lane]);
    const int largest = __reduce_max_sync(~0u, max(magnitude(x.x), magnitude(x.y)));
    const float unit = of_A ? unit_for(largest) : units_B[first + y];
    if (of_A && lane == 0) units_A[offset(piece, first + y, M)] = unit;
    float2 in_units = {x.x * (1 / unit), x.y * (1 / unit)};
    if (largest > 0) found |= doubts_about(x, in_units, min(K, kPiece));
    if (2 * lane < shared) in_units.x = 0;
    if (2 * lane + 1 < shared) in_units.y = 0;
    const __half2 high = __floats2half2_rn(in_units.x, in_units.y);
    const float2 nearest = __half22float2(high);
    __half2* const to = lines + kPiece * offset(kPiece * block + y, piece, pieces) + at;
    to[0] = high;
    to[kPartK / 2] = __floats2half2_rn(in_units.x - nearest.x, in_units.y - nearest.y);
  }
  const unsigned known = found == 0 ? 0 : *static_cast<volatile unsigned*>(doubts);
  if ((found & ~known) != 0) atomicOr(doubts, found);  // atomics on one word take turns
}

// Stage 21: proven parts
// A small number beside a large one of its line still loses bits, and where it meets a large number
// of the other matrix, C may consist of little else. Looking at all sums would cost as much as the
// product. So the split counts, and proves for all sums at once how little they lose. Where it
// cannot, it has doubts, and the kernel of stage 17 runs in place of this one, or, for numbers that
// no parts hold, that of stage 11. The GPU decides: all three are launched, and two return at once.
template <int BM, int BN, int BK, int STAGES, int VEC>
__global__ void __launch_bounds__((BM / 128 + 1) * 128, 1) proven_parts(
    int M, int N, int K, float alpha, const __grid_constant__ UnitMaps maps, float beta, float* C) {
  if (!is_to_run(maps)) return;
  multiply_scaled_parts<BM, BN, BK, STAGES, VEC>(M, N, K, alpha, maps, beta, C);
}

template <Tile t, int VEC>
using ProvenParts =
    Of<proven_parts<t.BM, t.BN, t.BK, t.STAGES, (VEC + 1) / 2>, OfParts<t, 128, true>>;

// Adds up the slices of K (Maps), always in the order of K. `sums` has `rows` rows for each slice.
__global__ void __launch_bounds__(256) add_up_slices_of_K(
    int M, int N, int rows, int slices, const float* sums, float alpha, float beta, float* C) {
  griddepcontrol_wait();  // this kernel starts early, behind the product
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= M * N) return;
  float sum = 0;
#pragma unroll 8
  for (int slice = 0; slice < slices; ++slice) sum += sums[offset(slice, i, rows * N)];
  C[i] = beta == 0.0f ? alpha * sum : alpha * sum + beta * C[i];
}

#ifndef KERNELS_ALONE  // examples/eight.cu takes only the kernels

// How the kernels are launched. There is one launch_kernel for kernels with the same parameters. If
// a launch has a condition, the kernel starts early, and returns at once unless it holds.

// The grid has C's rows and columns of tiles, or its kernel orders and shares out the tiles itself.
template <class Kernel, class... Arguments>
void launch_blocks(
    Kernel* kernel, const Task& t, const OnlyIf& only_if, const Arguments&... arguments) {
  const Variant& v = t.variant;
  const dim3 grid = v.sharing == Sharing::grid
                        ? dim3(ceil_div(t.N, v.BN), ceil_div(t.M, v.BM))
                        : dim3(blocks_of(share_out(t), tiles_of(v, t.M, t.N)));
  const dim3 block(v.block_x, v.block_y);
  if (only_if.word == nullptr) {
    launch(kernel, grid, block, v.shared_bytes, arguments...);
  } else {
    launch_if(only_if, kernel, grid, block, v.shared_bytes, arguments...);
  }
}

// Stages 1 to 10, 12 and 13.
void launch_kernel(Kernel* kernel, const Task& t, const OnlyIf& only_if) {
  launch_blocks(kernel, t, only_if, t.M, t.N, t.K, t.alpha, t.A, t.B, t.beta, t.C);
}

// Stage 11.
void launch_kernel(
    void (*kernel)(int, int, int, float, const float*, const float*, float, float*, Shares),
    const Task& t, const OnlyIf& only_if) {
  const ShareOut cut = share_out(t);
  const auto [sums, arrived] = sums_in_memory(t);
  const Shares shares{only_if, cut.whole, cut.slices, cut.depth, sums, arrived};
  launch_blocks(kernel, t, only_if, t.M, t.N, t.K, t.alpha, t.A, t.B, t.beta, t.C, shares);
}

// What comes before the product of parts, and what its kernel gets.
UnitMaps split(const Task& t) {
  const auto [lines, units_A, units_B, doubts, next_doubts] = parts_in_memory(t, kPiece);
  const auto launch_split = [&](auto* kernel, auto... outputs) {
    const int blocks = ceil_div(t.K, kPiece) * (ceil_div(t.M, kPiece) + ceil_div(t.N, kPiece));
    if (blocks > 0) launch_aside(kernel, blocks, 256, 0, t.M, t.N, t.K, t.A, t.B, outputs...);
  };
  const bool scaled = t.variant.has_units, judged = t.variant.stand_in != nullptr;
  if (scaled) launch_aside(find_units, ceil_div(t.N, 32), 1024, 0, t.N, t.K, t.B, units_B);
  if (!scaled) launch_split(split_matrices, lines);
  if (scaled && !judged) launch_split(split_in_units, lines, units_A, units_B);
  if (judged) launch_split(split_and_judge, lines, units_A, units_B, doubts, next_doubts);
  const auto [a, b] = maps_of_lines(lines, t, kPiece);
  return {{{doubts, kDoubtful, kDoubtful, /*otherwise=*/true}, {}, a, b}, units_A, units_B};
}

// Stages 14 to 17, and 18 and 19 behind the split.
void launch_kernel(
    void (*kernel)(int, int, int, float, Maps, float, float*), const Task& t,
    const OnlyIf& only_if) {
  if (multiplies_parts(t.variant)) {
    const Maps maps = split(t);
    return launch_blocks(kernel, t, maps, t.M, t.N, t.K, t.alpha, maps, t.beta, t.C);
  }
  const auto [a, b] = operand_maps(t, only_if);
  const ShareOut cut = share_out(t);
  if (cut.slices == 1) {
    const Maps maps{only_if, {}, a, b};
    return launch_blocks(kernel, t, only_if, t.M, t.N, t.K, t.alpha, maps, t.beta, t.C);
  }
  const int rows = ceil_div(t.M, t.variant.BM) * t.variant.BM, slice_K = cut.depth * t.variant.BK;
  float* const sums = sums_in_memory(t).sums;
  const Maps maps{{}, {rows, slice_K}, a, b};
  launch_blocks(kernel, t, {}, cut.slices * rows, t.N, slice_K, 1.0f, maps, 0.0f, sums);
  launch_aside(
      add_up_slices_of_K, ceil_div(t.M * t.N, 256), 256, 0, t.M, t.N, rows, cut.slices, sums,
      t.alpha, t.beta, t.C);
}

// Stages 20 and 21. The GPU decides between the kernel of stage 21 and those that stand in for it:
// all but one return at once.
void launch_kernel(
    void (*kernel)(int, int, int, float, UnitMaps, float, float*), const Task& t, const OnlyIf&) {
  const UnitMaps maps = split(t);
  launch_blocks(kernel, t, maps, t.M, t.N, t.K, t.alpha, maps, t.beta, t.C);
  const Variant* stand_in = t.K > 0 ? t.variant.stand_in : nullptr;
  for (unsigned doubts = kDoubtful; stand_in != nullptr; doubts = kAllDoubts) {
    const Task other{*stand_in, t.sms, t.M, t.N, t.K, t.alpha, t.A, t.B, t.beta, t.C};
    kernel_for(*stand_in, t.N, t.K, t.A, t.B, t.C).launch(other, {maps.word, kAllDoubts, doubts});
    stand_in = stand_in->stand_in;
  }
}

// The ladder as data.

// Splitting A and B takes longer than multiplying them if C has few results. So the kernel of stage
// 17 runs there in place of those of 18 to 20, and in place of stage 21's, which is right for all
// data, stage 11's.
const Contrast kInTf32Parts{"fp32 from tf32 parts", kSplitTf32, lesson::kTf32Parts};
const Contrast kInFp32{"balanced", kFp32, lesson::kBalanced};
const std::vector<Variant> few_in_tf32 = few<Tf32Parts, kFewSplit>(kInTf32Parts);

using namespace lesson;
// Number, name, what the program says of it, variants, needs, precision (model/stage.h explains
// them).
const std::vector<Stage> stages = {
    {0, "serial", kSerial},
    {1, "naive", kNaive, variants<Naive, kOnePerThread>()},
    {2, "coalesced", kCoalesced, variants<Coalesced, kOnePerThread>()},
    {3, "shared-memory tiling", kSharedMemoryTiling, variants<SharedMemoryTiling, kOnePerThread>()},
    {4, "1D thread coarsening", kThreadCoarsening1d, variants<ThreadCoarsening1d, kColumns>()},
    {5, "2D thread tiling", kThreadTiling2d, variants<ThreadTiling2d, kSquares>()},
    {6, "vectorized", kVectorized, variants<Vectorized, kSquares>()},
    {7, "conflict-free", kConflictFree, variants<ConflictFree, kSquares>()},
    {8, "warp tiling", kWarpTiling, variants<WarpTiling, kOfWarps>()},
    {9, "async pipeline", kAsyncPipeline, variants<AsyncPipeline, kPipelined>(), kCpAsync},
    {10, "register pipeline", kRegisterPipeline, variants<RegisterPipeline, kPipelined>(),
     kCpAsync},
    {11, "balanced", kBalanced,
     variants<Balanced, kPipelined, kFewRows>({variant<Ordered, kPipelined[0]>()}), kCpAsync},
    {12, "tensor cores", kTensorCores, variants<TensorCores, kOfFragments>(), kMma, kTf32},
    {13, "ldmatrix", kLdmatrix, variants<LdmatrixFragments, kSwizzled>(), kMma, kTf32},
    {14, "copy engine", kCopyEngine, variants<CopyEngine, kFragmentsInBoxes>(), kTma, kTf32},
    {15, "warpgroups", kWarpgroups, variants<Warpgroups, kInBoxes, kFewInBoxes>(), kWgmma, kTf32},
    {16, "specialized warps", kSpecializedWarps,
     variants<SpecializedWarps, kInBoxes, kFewInBoxes>(
         variants<SpecializedWarpsBf16, kBf16InBoxes>()),
     kWgmma, kTf32},
    {17, "fp32 from tf32 parts", kTf32Parts, variants<Tf32Parts, kSplitInBoxes, kFewSplit>(),
     kWgmma, kSplitTf32},
    {18, "fp32 from fp16 parts", kFp16Parts, variants<Fp16Parts, kPartsInBoxes>(few_in_tf32),
     kWgmma, kFixedFp16},
    {19, "taking turns", kTakingTurns, variants<TakingTurns, kPiecesInBoxes>(few_in_tf32), kWgmma,
     kFixedFp16},
    {20, "scaled parts", kScaledParts, variants<ScaledParts, kPiecesInBoxes>(few_in_tf32), kWgmma,
     kScaledFp16},
    {21, "proven parts", kProvenParts,
     with_stand_ins(
         variants<ProvenParts, kPiecesInBoxes>(few<Balanced, kPipelined, kFewRows>(kInFp32)),
         variant<Tf32Parts, kSplitInBoxes[0]>(), kInTf32Parts, variant<Ordered, kPipelined[0]>(),
         kInFp32),
     kWgmma, kSplitFp16},
};

// C = alpha * A * B + beta * C with one launch, or several where C has more block rows than a grid.
void run(Task t) {
  refuse_too_large(t.M, t.N, t.K);
  const bool again = t.makes == Makes::product_again;
  if (t.variant.has_maps && !again) aligned_copies().forget();  // A and B may be new
  last_doubts() = nullptr;
  if (t.M == 0 || t.N == 0) return;
  if (t.alpha == 0.0f) t.K = 0;  // as BLAS says, A and B are not read then
  if (t.makes == Makes::parts) return void(split(t));
  if (t.K == 0) t.alpha = 0.0f;  // C = beta * C, even if alpha is infinite

  constexpr int kMostBlockRows = 65535;  // gridDim.y, on every GPU
  for (int rows_left = t.M; rows_left > 0; rows_left -= t.M) {
    t.M = std::min(rows_left, kMostBlockRows * t.variant.BM);
    kernel_for(t.variant, t.N, t.K, t.A, t.B, t.C).launch(t, {});
    t.A += static_cast<std::size_t>(t.M) * t.K;
    t.C += static_cast<std::size_t>(t.M) * t.N;
  }
}

// Which variant computed the last product, counted along its stand-ins. Waits for it.
int stood_in() {
  const unsigned doubts = doubts_of_last_launch();
  return (doubts & kDoubtful) != kDoubtful ? 0 : doubts == kDoubtful ? 1 : 2;
}

extern const StageTable stage_table{stages, run, stood_in};

int main(int argc, char** argv) {
  return cli::walk(argc, argv, stage_table);
}
#endif
