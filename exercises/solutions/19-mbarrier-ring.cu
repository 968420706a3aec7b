// Exercise 19: a ring of mbarriers. exercises/19-mbarrier-ring/README.md says what to mend.
#include "school/grade/shape.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/launch.h"

constexpr int BM = 32, BN = 32, BK = 8;  // a block computes BM x BN of C, BK steps of K at a time
constexpr int TM = 4, TN = 4;            // a consumer TM x TN of it
constexpr int CONSUMERS = BM / TM * (BN / TN);  // threads 0 to 63; thread 64 is the producer
constexpr int PLACES = 3;                       // of the ring

// One tile of A and one of B.
struct Tile {
  float A[BK][BM];
  float B[BK][BN];
};

// What the copy engine needs to know of A and B.
struct Maps {
  CUtensorMap A, B;
};

// Lets the copy engine copy a tile: the boxes of A and B whose first rows are k. `full` counts the
// bytes that arrive.
__device__ void start_copy(
    Tile& to, const Maps& maps, int row, int col, int k, std::uint64_t* full) {
  cp_async_bulk_tensor_2d(to.A, &maps.A, row, k, full);
  cp_async_bulk_tensor_2d(to.B, &maps.B, col, k, full);
}

// C = A^T * B: A is K x M, B is K x N, C is M x N, all row by row.
__global__ void multiply(int N, int K, const __grid_constant__ Maps maps, float* C) {
  __shared__ __align__(128) Tile ring[PLACES];
  __shared__ std::uint64_t full[PLACES], empty[PLACES];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int thread = threadIdx.x;   // 0 to 95
  const int row = thread / 8 * TM;  // and this consumer's results (TM, TN) start there in it
  const int col = thread % 8 * TN;

  float sum[TM][TN] = {};
  // ---- your code ----
  if (thread == 0) {
    for (int place = 0; place < PLACES; ++place) {
      mbarrier_init(&full[place], 1);
      mbarrier_init(&empty[place], CONSUMERS);
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  if (thread == CONSUMERS) {
    for (int tile = 0; tile < K / BK; ++tile) {
      const int place = tile % PLACES;
      const unsigned phase = tile / PLACES % 2;
      mbarrier_wait(&empty[place], phase ^ 1);
      mbarrier_arrive_expect_tx(&full[place], sizeof(Tile));
      start_copy(ring[place], maps, block_row, block_col, tile * BK, &full[place]);
    }
  }
  if (thread < CONSUMERS) {
    for (int tile = 0; tile < K / BK; ++tile) {
      const int place = tile % PLACES;
      const unsigned phase = tile / PLACES % 2;
      mbarrier_wait(&full[place], phase);
      for (int k = 0; k < BK; ++k) {
        float a[TM], b[TN];
        for (int i = 0; i < TM; ++i) a[i] = ring[place].A[k][row + i];
        for (int j = 0; j < TN; ++j) b[j] = ring[place].B[k][col + j];
        for (int i = 0; i < TM; ++i) {
          for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
        }
      }
      mbarrier_arrive(&empty[place]);
    }
  }
  // ---- end of your code ----
  if (thread >= CONSUMERS) return;
  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      C[(block_row + row + i) * N + block_col + col + j] = sum[i][j];
    }
  }
}

// A block of 64 consumers and the producer's warp for every tile of C. M, N and K are multiples of
// BM, BN and BK.
void run(Shape shape, const float* A, const float* B, float* C) {
  const auto map = [&](const float* matrix, int columns, int box_columns) {
    return tensor_map_2d(
        matrix, shape.K, columns, 4 * columns, {BK, box_columns}, model::Swizzle::none);
  };
  const dim3 grid(shape.N / BN, shape.M / BM);
  const Maps maps = {map(A, shape.M, BM), map(B, shape.N, BN)};
  launch(multiply, grid, dim3(CONSUMERS + 32), 0, shape.N, shape.K, maps, C);
}
