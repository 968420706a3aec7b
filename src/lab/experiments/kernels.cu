// The kernels that the experiments (src/lab/experiments/catalogue.cpp) launch besides the stages'
// own variants: more tile sizes of the stages' kernels, and kernels that differ from a stage's
// kernel in one detail. gemm_steps.cu is included, so that a compilation of this file has both.

#include "gemm_steps.cu"

// The stages' kernels with the edits of changes.txt, written by changed_kernels.sh.
#include "changed_kernels.cuh"

// Stages 1 and 2 with the grid's M and N exchanged: blocks that start one after the other are below
// each other in C instead of side by side. This is the order of a launch with dim3 grid(rows,
// columns) and blockIdx.x for the rows.
template <int BM, int BN, bool DOWN_COLUMNS>
__global__ void swapped_untiled(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const int row = block % gridDim.y * BM + (DOWN_COLUMNS ? threadIdx.x : threadIdx.y);
  const int col = block / gridDim.y * BN + (DOWN_COLUMNS ? threadIdx.y : threadIdx.x);
  if (row >= M || col >= N) return;

  float sum = 0.0f;
  for (int k = 0; k < K; ++k) {
    sum += A[offset(row, k, K)] * B[offset(k, col, N)];
  }

  update_if_inside(C, M, N, row, col, alpha, sum, beta);
}

// Stage 3 with the same change.
template <int BM, int BN, int BK>
__global__ void swapped_tiling(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];

  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const int block_row = block % gridDim.y * BM;  // C's tile (BM, BN)
  const int block_col = block / gridDim.y * BN;
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

// Stage 7 with another layout of A's tile: rows are PAD floats longer (in stage 7: 4), and columns
// are XORed with a multiple of SWIZZLE that changes every four rows. A float4 can be loaded from a
// row only if its length is a multiple of 16 bytes.
template <int BM, int BN, int BK, int TM, int TN, int PAD, int SWIZZLE, int VEC>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    padded(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  __shared__ __align__(16) float As[BK][BM + PAD];
  __shared__ __align__(16) float Bs[BK][BN];

  const int block_row = blockIdx.y * BM, block_col = blockIdx.x * BN;  // C's tile (BM, BN)
  const int row = threadIdx.y * 4, col = threadIdx.x * 4;  // in it, this thread's first result
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;
  const auto swizzled = [](int k, int m) { return m ^ k / 4 % 2 * SWIZZLE; };

  alignas(16) float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += 4 * kThreads / BK) {
      const int m = i + 4 * thread / BK, k = 4 * thread % BK;
      const float4 a = load4_or_zero<VEC>(A, M, K, block_row + m, k0 + k);
      As[k][swizzled(k, m)] = a.x;
      As[k + 1][swizzled(k, m)] = a.y;
      As[k + 2][swizzled(k, m)] = a.z;
      As[k + 3][swizzled(k, m)] = a.w;
    }
    for (int i = 0; i < BK; i += 4 * kThreads / BN) {
      const int k = i + 4 * thread / BN, n = 4 * thread % BN;
      as_float4(Bs[k][n]) = load4_or_zero<VEC>(B, K, N, k0 + k, block_col + n);
    }
    __syncthreads();

#pragma unroll
    for (int k = 0; k < BK; ++k) {
      alignas(16) float a[TM], b[TN];
      for (int i = 0; i < TM; i += 4) {
        const int m = swizzled(k, row + spread(i, BM / TM));
        if constexpr (PAD % 4 == 0) {
          as_float4(a[i]) = as_float4(As[k][m]);
        } else {
          for (int j = 0; j < 4; ++j) a[i + j] = As[k][m + j];
        }
      }
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

template <int BM, int BN, bool DOWN_COLUMNS>
model::Variant swapped_untiled_variant(const char* name) {
  constexpr auto kernel = swapped_untiled<BM, BN, DOWN_COLUMNS>;
  return variant(
      name, BM, BN, 0, 0, 0, 1, 1, DOWN_COLUMNS ? BM : BN, DOWN_COLUMNS ? BN : BM, ref<kernel>(),
      ref<kernel>());
}

template <int BM, int BN, int BK>
model::Variant swapped_tiling_variant(const char* name) {
  static_assert(
      BM == BK && BN == BK,
      "every thread copies one element of either tile, so both must have the block's shape");
  constexpr auto kernel = swapped_tiling<BM, BN, BK>;
  return variant(name, BM, BN, BK, 0, 0, 1, 1, BN, BM, ref<kernel>(), ref<kernel>());
}

template <int BM, int BN, int BK, int TM, int TN, int PAD, int SWIZZLE>
model::Variant padded_variant(const char* name) {
  constexpr int kThreads = (BM / TM) * (BN / TN);
  static_assert(
      BM % TM == 0 && BN % TN == 0,
      "the tile's rows and columns must divide evenly among the threads");
  static_assert(
      copies_whole_rows(kThreads, 4, BM, BK) && copies_whole_rows(kThreads, 4, BK, BN),
      "the threads must copy whole rows of a tile at a time");
  static_assert(TM % 4 == 0 && TN % 4 == 0, "a float4 holds four neighbours");
  static_assert(
      SWIZZLE % 4 == 0 && BM % (2 * SWIZZLE + (SWIZZLE == 0)) == 0,
      "a swizzle must keep four neighbours together, and within the row");
  return variant(
      name, BM, BN, BK, 0, 0, TM, TN, BN / TN, BM / TM,
      ref<padded<BM, BN, BK, TM, TN, PAD, SWIZZLE, 4>>(),
      ref<padded<BM, BN, BK, TM, TN, PAD, SWIZZLE, 1>>());
}

// A variant with a changed kernel in place of its own.
template <auto kernel, auto kernel_any>
model::Variant changed(const char* name, model::Variant variant) {
  variant.name = name;
  variant.kernel = ref<kernel>();
  variant.kernel_any = ref<kernel_any>();
  return variant;
}

template <int BM, int BN, int WM, int WN, int TM, int TN>
model::Variant any_registers(const char* name) {
  return changed<
      warp_tiling_any_registers<BM, BN, 8, WM, WN, TM, TN, 4>,
      warp_tiling_any_registers<BM, BN, 8, WM, WN, TM, TN, 1>>(
      name, warp_tiling_variant<BM, BN, 8, WM, WN, TM, TN>(name));
}

// A stage with more variants, some of which may have conflicts.
model::Stage with_more(int number, std::vector<model::Variant> variants) {
  model::Stage stage = *model::find_stage(stages, number);
  stage.conflict_free = false;
  stage.variants.insert(stage.variants.end(), variants.begin(), variants.end());
  return stage;
}

// A variant whose number of loads from shared memory differs from its stage's.
model::Stage with_other_shared_loads(
    int number, const char* smem_loads, const char* smem_floats, model::Variant variant) {
  model::Stage stage = *model::find_stage(stages, number);
  stage.conflict_free = false;
  stage.predicted.smem_loads = smem_loads;
  stage.predicted.smem_floats = smem_floats;
  stage.variants = {variant};
  return stage;
}

// The list, and the stages that it has nothing to add to: this table has every variant of the
// ladder, because tests.cpp takes its variants from here.
std::vector<model::Stage> with_the_others(std::vector<model::Stage> list) {
  for (const model::Stage& stage : stages) {
    const bool is_listed = model::find_stage(list, stage.number) != nullptr;
    if (!is_listed && !stage.variants.empty()) list.push_back(stage);
  }
  return list;
}

const std::vector<model::Stage> experiment_stages = with_the_others({
    with_more(
        1, {naive_variant<32, 8>("32x8"), swapped_untiled_variant<32, 32, true>("swapped-grid")}),
    with_more(
        2,
        {coalesced_variant<8, 32>("8x32"), swapped_untiled_variant<32, 32, false>("swapped-grid")}),
    with_more(3, {swapped_tiling_variant<32, 32, 32>("swapped-grid")}),
    // With TM 1 this is stage 3 without the condition that the tile is square.
    with_more(
        4, {thread_coarsening_1d_variant<8, 32, 32, 1>("8x32x32-tm1"),
            thread_coarsening_1d_variant<32, 32, 32, 8>("32x32x32-tm8")}),
    with_more(
        5, {thread_tiling_2d_variant<128, 64, 8, 8, 8>("128x64x8"),
            thread_tiling_2d_variant<128, 128, 16, 8, 8>("128x128x16"),
            thread_tiling_2d_variant<64, 64, 16, 4, 4>("64x64x16-4x4"),
            changed<tiling_unrolled<128, 128, 8, 8, 8>, tiling_unrolled<128, 128, 8, 8, 8>>(
                "unrolled", thread_tiling_2d_variant<128, 128, 8, 8, 8>("")),
            changed<
                tiling_unrolled_other_index<128, 128, 8, 8, 8>,
                tiling_unrolled_other_index<128, 128, 8, 8, 8>>(
                "unrolled-other-index", thread_tiling_2d_variant<128, 128, 8, 8, 8>(""))}),
    with_more(
        6,
        {vectorized_variant<128, 64, 8, 8, 8>("128x64x8"),
         vectorized_variant<128, 128, 16, 8, 8>("128x128x16"),
         vectorized_variant<64, 64, 16, 4, 4>("64x64x16-4x4"),
         changed<
             vectorized_not_unrolled<128, 128, 8, 8, 8, 4>,
             vectorized_not_unrolled<128, 128, 8, 8, 8, 1>>(
             "not-unrolled", vectorized_variant<128, 128, 8, 8, 8>("")),
         changed<
             vectorized_padded_b<128, 128, 8, 8, 8, 4>, vectorized_padded_b<128, 128, 8, 8, 8, 1>>(
             "padded-b", vectorized_variant<128, 128, 8, 8, 8>(""))}),
    with_more(
        7, {conflict_free_variant<128, 64, 8, 8, 8>("128x64x8"),
            conflict_free_variant<64, 128, 8, 8, 8>("64x128x8"),
            conflict_free_variant<128, 128, 8, 16, 8>("128x128x8-16x8"),
            padded_variant<128, 128, 8, 8, 8, 0, 0>("unpadded"),
            padded_variant<128, 128, 8, 8, 8, 0, 16>("swizzled")}),
    with_other_shared_loads(
        7, "ceil(K/BK)*BK*(TM + TN/4)", kFloat4.smem_floats,
        padded_variant<128, 128, 8, 8, 8, 1, 0>("padded-by-1")),
    with_more(
        8, {warp_tiling_variant<128, 128, 8, 64, 64, 16, 8>("128x128x8-64x64"),
            warp_tiling_variant<128, 64, 8, 64, 64, 16, 8>("128x64x8"),
            warp_tiling_variant<64, 128, 8, 64, 64, 16, 8>("64x128x8"),
            any_registers<128, 128, 32, 128, 16, 8>("any-registers"),
            any_registers<128, 128, 32, 64, 8, 8>("any-registers-8x8"),
            any_registers<128, 256, 64, 64, 16, 8>("any-registers-128x256")}),
    with_more(
        9, {async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 2>("128x256x8-2"),
            async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 3>("128x256x8-3"),
            async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 5>("128x256x8-5"),
            changed<
                ring_checked<128, 256, 8, 64, 64, 16, 8, 4, 4>,
                ring_checked<128, 256, 8, 64, 64, 16, 8, 4, 1>>(
                "checked", async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>("")),
            changed<
                ring_copies_later<128, 256, 8, 64, 64, 16, 8, 4, 4>,
                ring_copies_later<128, 256, 8, 64, 64, 16, 8, 4, 1>>(
                "copies-later", async_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>(""))}),
    with_more(
        10, {changed<
                 fragments_forwards<128, 256, 8, 64, 64, 16, 8, 4, 4>,
                 fragments_forwards<128, 256, 8, 64, 64, 16, 8, 4, 1>>(
                 "forwards", register_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>("")),
             changed<
                 fragments_by_columns<128, 256, 8, 64, 64, 16, 8, 4, 4>,
                 fragments_by_columns<128, 256, 8, 64, 64, 16, 8, 4, 1>>(
                 "by-columns", register_pipeline_variant<128, 256, 8, 64, 64, 16, 8, 4>(""))}),
});

extern const model::StageTable experiment_table{experiment_stages, kernel_for, run, run_again};
