// A hand-made run for tests, for which the expected output is known.
#pragma once

#include <cstdint>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "model/tile.h"
#include "model/warp_access.h"

namespace lab::example {

inline const model::Gpu kGpu{
    .name = "RTX 3090",
    .compute_capability = 86,
    .sms = 82,
    .fp32_lanes_per_sm = 128,
    .boost_ghz = 1.695,
    .dram_gb_per_s = 936,
    .smem_bytes_per_sm = 102400,
    .smem_bytes_per_block = 101376,
    .smem_reserved_bytes_per_block = 1024,
    .smem_granularity_bytes = 128,
    .threads_per_sm = 1536,
    .blocks_per_sm = 16,
    .registers_per_sm = 65536};

// A variant without a kernel.
inline model::Variant variant(
    const char* name, model::Tile tile, int block_x, int block_y, const char* kernel) {
  return {name,    tile.BM, tile.BN, tile.BK, tile.WM, tile.WN,           tile.TM,
          tile.TN, 0,       block_x, block_y, 0,       {nullptr, kernel}, {nullptr, kernel}};
}

inline const model::Stage kTiling{
    .number = 5,
    .name = "2D thread tiling",
    .lesson =
        {.idea =
             "A thread computes a square of TM x TN results: every float that it takes from shared "
             "memory is used TM or TN times.",
         .predicted =
             {.gmem_loads = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
              .gmem_floats = "ceil(K/BK)*BK*(BM + BN)/threads + TM*TN*reads_C",
              .smem_loads = "ceil(K/BK)*BK*(TM + TN)",
              .smem_floats = "ceil(K/BK)*BK*(TM + TN)",
              .gmem_stores = "TM*TN",
              .smem_stores = "ceil(K/BK)*BK*(BM + BN)/threads"}},
    .variants = {variant(
        "128x128x8", {128, 128, 8, 0, 0, 8, 8}, 16, 16, "thread_tiling_2d<128, 128, 8, 8, 8>")}};

inline const model::Stage kNaive{
    .number = 4,
    .name = "naive",
    .lesson =
        {.idea = "A thread for every element of C.",
         .predicted =
             {.gmem_loads = "2*K + reads_C", .gmem_floats = "2*K + reads_C", .gmem_stores = "1"}},
    .variants = {variant("32x32", {32, 32, 0, 0, 0, 0, 0}, 32, 32, "naive<32, 32>")}};

inline model::PerThread each(std::int64_t value, std::int64_t threads) {
  return {value, value, value * threads};
}

// The counts of the 2D tiling at 256^3: four interior blocks of 256 threads, all traced.
inline model::Counts tiling_counts() {
  constexpr std::int64_t threads = 4 * 256;
  model::Counts counts;
  counts.blocks = counts.blocks_traced = 4;
  counts.threads_traced = threads;
  counts.gmem_loads = {
      {8192, 40960, 32768, 0, 8192}, each(256, threads), each(256, threads), each(1024, threads)};
  counts.gmem_stores = {
      {2048, 65536, 8192, 0, 57344}, each(64, threads), each(64, threads), each(256, threads)};
  counts.smem_loads = {
      {131072, 327680, 131072, 196608},
      each(4096, threads),
      each(4096, threads),
      each(16384, threads)};
  counts.smem_stores = {
      {8192, 8192, 8192, 0}, each(256, threads), each(256, threads), each(1024, threads)};
  return counts;
}

inline model::Counts naive_counts() {
  constexpr std::int64_t threads = 5 * 1024;
  model::Counts counts;
  counts.blocks = 64;
  counts.blocks_traced = 5;
  counts.threads_traced = threads;
  counts.gmem_loads = {
      {81920, 1351680, 204800, 0, 1146880},
      each(512, threads),
      each(512, threads),
      each(2048, threads)};
  counts.gmem_stores = {
      {160, 5120, 640, 0, 4480}, each(1, threads), each(1, threads), each(4, threads)};
  return counts;
}

// A row that is not a stage.
inline Row named_row(int number, const char* name, Timing time, double relative, double largest) {
  Row row;
  row.number = number;
  row.name = name;
  row.time = time;
  row.error = model::Error{relative, largest, true, {}};
  return row;
}

inline Row stage_row(const model::Stage& stage, const model::Counts& counts, int registers) {
  Row row;
  row.number = stage.number;
  row.before_number = stage.number - 1;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &stage.variants[0];
  row.counts = counts;
  const int smem = stage.variants[0].BK * (stage.variants[0].BM + stage.variants[0].BN) * 4;
  row.occupancy = model::occupancy(kGpu, {stage.variants[0].threads(), registers, smem});
  row.error = model::Error{2.9e-7, 5.1e-6, true, {}};
  return row;
}

// A run of four rows at 256^3 on a machine without a GPU.
inline Run traced_run() {
  Run run{256, 256, 256, 1, 0, 1, kGpu, false, "", "gemm_steps --stage 4-5", "2025-01-02T03:04:05Z",
          {}};
  run.rows = {
      named_row(0, "serial", {18.3, 18.1, 19.0, 18.2, 18.7, 3}, 3.1e-7, 4.5e-6),
      named_row(-1, "OpenMP CPU", {0.512, 0.5, 0.6, 0.51, 0.53, 10}, 2.2e-7, 3.5e-6),
      stage_row(kNaive, naive_counts(), 37), stage_row(kTiling, tiling_counts(), 128)};
  return run;
}

// The same with times from a GPU, and with cuBLAS.
inline Run timed_run() {
  Run run = traced_run();
  run.gpu_present = true;
  run.driver = "580.65, CUDA 13.0";
  run.rows[2].time = Timing{0.0671, 0.0669, 0.0702, 0.067, 0.068, 20};
  run.rows[3].time = Timing{0.0132, 0.0131, 0.0140, 0.01315, 0.0135, 20};
  run.rows[2].cublas_error = run.rows[3].cublas_error = 3.3e-7;
  const Row fp32 =
      named_row(-1, "cuBLAS fp32", {0.0066, 0.0065, 0.0070, 0.00655, 0.0068, 20}, 2.5e-7, 4e-6);
  Row tf32 = fp32;
  tf32.name = "cuBLAS tf32";
  tf32.time->median_ms = tf32.time->quartile1_ms = 0.0033;
  run.rows.push_back(fp32);
  run.rows.push_back(tf32);
  return run;
}

}  // namespace lab::example
