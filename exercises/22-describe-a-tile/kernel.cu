// Exercise 22: describe a tile. exercises/22-describe-a-tile/README.md says what to write.
#include "school/grade/shape.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 64, BN = 64;  // a block, one warpgroup, computes BM x BN of C
constexpr int PLACES = 2;        // of the ring of B's tiles

// The address of something in shared memory, in bytes, as a number.
__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// C = A * B^T: A is M x K, B is N x K, C is M x N, all row by row. BK steps of K at a time: a row
// of B's tile has 4 * BK bytes, 128 or 64, and the copy engine swizzles within it.
template <int BK>
__global__ void multiply(
    int N, int K, const float* A, const __grid_constant__ CUtensorMap map_of_B, float* C) {
  constexpr int ROW_BYTES = 4 * BK;
  __shared__ __align__(1024) float ring[PLACES][BN][BK];
  __shared__ std::uint64_t full[PLACES];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;                      // 0 to 127
  const int row = thread / 32 * 16 + thread % 32 / 4;  // of this thread's part of a fragment
  const int column = thread % 4;
  const float* const own_A = A + (block_row + row) * K + column;

  initialize(full, 1);
  __syncthreads();
  const auto start_copy = [&](int tile) {
    if (thread > 0 || tile >= K / BK) return;
    mbarrier_arrive_expect_tx(&full[tile % PLACES], sizeof ring[0]);
    cp_async_bulk_tensor_2d(
        ring[tile % PLACES], &map_of_B, tile * BK, block_col, &full[tile % PLACES]);
  };

  float sum[BN / 2] = {};
  start_copy(0);
  for (int tile = 0; tile < K / BK; ++tile) {
    start_copy(tile + 1);
    unsigned a[BK / 8][4];  // the fragments of A, for 8 steps of k each
    for (int i = 0; i < BK / 2; ++i) {
      const int k = i / 4 * 8 + i / 2 % 2 * 4;
      a[i / 4][i % 4] = __float_as_uint(own_A[i % 2 * 8 * K + tile * BK + k]);
    }
    mbarrier_wait(&full[tile % PLACES], tile / PLACES % 2);

    wgmma_fence();
    const unsigned start = shared_address(ring[tile % PLACES]);  // of B's tile
    for (int k = 0; k < BK; k += 8) {
      std::uint64_t descriptor = 0;  // of B's tile from step k of each row on
      // ---- your code ----
      // ---- end of your code ----
      wgmma_m64nNk8_tf32(sum, a[k / 8], descriptor);
    }
    wgmma_commit_group();
    wgmma_wait_group<0>();
    __syncthreads();
  }
  wgmma_fence_operand(sum);

  for (int i = 0; i < BN / 2; ++i) {
    const int n = i / 4 * 8 + column * 2 + i % 2;
    C[(block_row + row + i / 2 % 2 * 8) * N + block_col + n] = sum[i];
  }
}

template <int BK>
void run_tiled(Shape shape, const float* A, const float* B, float* C) {
  const auto swizzle = BK == 32 ? model::Swizzle::span_128 : model::Swizzle::span_64;
  const CUtensorMap map = tensor_map_2d(B, shape.N, shape.K, 4 * shape.K, {BN, BK}, swizzle);
  const dim3 grid(shape.N / BN, shape.M / BM);
  launch(multiply<BK>, grid, dim3(128), 0, shape.N, shape.K, A, map, C);
}

// A warpgroup for every tile of C. M, N and K are multiples of BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  if (shape.variant == 0) run_tiled<32>(shape, A, B, C);
  if (shape.variant == 1) run_tiled<16>(shape, A, B, C);
}
