#include "model/ceiling.h"

#include <doctest/doctest.h>

namespace model {

namespace {

// A GPU whose every unit does one operation per nanosecond: 4 SMs with 32 lanes.
Gpu plain_gpu() {
  Gpu gpu{};
  gpu.name = "plain";
  gpu.sms = 4;
  gpu.fp32_lanes_per_sm = 32;
  gpu.boost_ghz = 1;
  gpu.dram_gb_per_s = 1;
  return gpu;
}

// Blocks of one warp, with one result per lane.
Variant one_warp(int BK) {
  Variant variant{};
  variant.BM = 1;
  variant.BN = 32;
  variant.BK = BK;
  variant.block_x = 32;
  variant.block_y = 1;
  return variant;
}

// Eight blocks, one of which was traced and makes `loads` scalar loads from shared memory.
Counts traced_loads(int loads, int wavefronts_each) {
  Counts counts;
  counts.blocks = 8;
  counts.blocks_traced = 1;
  counts.threads_traced = 32;
  counts.smem_loads.requests = loads;
  counts.smem_loads.pieces = loads * wavefronts_each;
  counts.smem_loads.accesses.sum = counts.smem_loads.floats.sum = 32 * loads;
  return counts;
}

const Product kProduct{8, 32, 100, false};

}  // namespace

TEST_CASE("the busiest unit bounds the rate, and a unit's time is its share of the work") {
  Gpu gpu = plain_gpu();
  gpu.dram_gb_per_s = 1e6;
  Counts counts = traced_loads(300, 2);
  counts.gmem_loads.lines = 500;
  const auto ceiling = ceiling_as_written(gpu, kProduct, one_warp(0), counts);
  REQUIRE(ceiling);
  // Eight blocks on four SMs: two per SM, one after the other.
  CHECK(ceiling->ms[kFma] == doctest::Approx(2 * 100e-6));
  CHECK(ceiling->ms[kIssue] == doctest::Approx(2 * (100 + 300) / 4 * 1e-6));
  CHECK(ceiling->ms[kSmem] == doctest::Approx(2 * 600e-6));
  CHECK(ceiling->ms[kL1] == doctest::Approx(2 * 500e-6));
  CHECK(ceiling->ms[kL2] == doctest::Approx(2 * 4 * (33 * 100 + 32) / 64 * 1e-6));
  CHECK(ceiling->bound_by == kSmem);
  CHECK(ceiling->tflops == doctest::Approx(2.0 * 8 * 32 * 100 / 1200e-9 * 1e-12));
  CHECK(ceiling->busy_share == 1);
  // First 500 lines, then 600 wavefronts.
  CHECK(ceiling->no_overlap_tflops == doctest::Approx(2.0 * 8 * 32 * 100 / 2200e-9 * 1e-12));
}

TEST_CASE("each matrix is read from memory once, and C is also read if beta is not 0") {
  const Counts counts = traced_loads(0, 0);
  const auto ms = [&](bool reads_C) {
    return ceiling_as_written(plain_gpu(), {8, 32, 100, reads_C}, one_warp(0), counts)->ms[kDram];
  };
  CHECK(ms(false) == doctest::Approx(4 * (8 * 100 + 100 * 32 + 8 * 32) * 1e-6));
  CHECK(ms(true) == doctest::Approx(4 * (8 * 100 + 100 * 32 + 2 * 8 * 32) * 1e-6));
}

TEST_CASE("one block more than the SMs hold costs as much as a whole wave of blocks") {
  const Counts counts = traced_loads(300, 1);
  const auto ceiling = [&](int M) {
    return *ceiling_as_written(plain_gpu(), {M, 32, 100, false}, one_warp(0), counts);
  };
  CHECK(ceiling(4).ms[kSmem] == doctest::Approx(300e-6));
  CHECK(ceiling(5).ms[kSmem] == doctest::Approx(600e-6));
  CHECK(ceiling(8).ms[kSmem] == doctest::Approx(600e-6));
  CHECK(ceiling(5).busy_share == doctest::Approx(5 / 8.0));
}

TEST_CASE("the last tile is multiplied in full, and half a warp occupies a warp's lanes") {
  const Counts counts = traced_loads(0, 0);
  Variant variant = one_warp(16);
  CHECK(
      ceiling_as_written(plain_gpu(), {4, 32, 17, false}, variant, counts)->ms[kFma] ==
      doctest::Approx(32e-6));
  variant.block_x = 16;
  variant.BN = 16;
  CHECK(
      ceiling_as_written(plain_gpu(), {4, 16, 16, false}, variant, counts)->ms[kFma] ==
      doctest::Approx(16e-6));
}

TEST_CASE("the compiler's instructions replace the source's, and wide loads replace scalar ones") {
  // 200 loads in the source: 100 that take one wavefront, and 100 that take four and could be wide.
  Counts counts = traced_loads(200, 1);
  counts.smem_loads.pieces = 500;
  counts.widenable[4] = {100, 200, 50};
  CompiledKernel record{};
  record.loop.ffma = 4;
  record.loop.lds32 = 4;
  record.loop.lds128 = 1;
  record.loop.other = 7;
  const auto loads = shared_loads_as_compiled(kProduct, one_warp(0), counts, record);
  CHECK(loads.requests == 125);
  CHECK(loads.wavefronts == 150);
  const auto ceiling = ceiling_as_compiled(plain_gpu(), kProduct, one_warp(0), counts, record);
  REQUIRE(ceiling);
  CHECK(ceiling->ms[kIssue] == doctest::Approx(2 * 25 * 16 / 4 * 1e-6));
  CHECK(ceiling->ms[kSmem] == doctest::Approx(2 * 150e-6));

  // Half as many wide loads. The loads that gain the most are assumed to be the wide ones.
  counts.widenable[1] = {100, 50, 100};
  record.loop.lds128 = 0;
  record.loop.lds64 = 1;
  const auto in_pairs = shared_loads_as_compiled(kProduct, one_warp(0), counts, record);
  CHECK(in_pairs.wavefronts == 500 - 50 * (4 - 2));
}

TEST_CASE("wide loads in the source are not merged again") {
  Counts counts = traced_loads(25, 4);
  counts.smem_loads.floats.sum *= 4;
  counts.widenable[4] = {25, 10, 5};
  CompiledKernel record{};
  record.loop.ffma = 4;
  record.loop.lds128 = 1;
  CHECK(shared_loads_as_compiled(kProduct, one_warp(0), counts, record).wavefronts == 100);
}

namespace {

// As the tiles of the stage that cuts them, with a trace of one whole tile.
Variant large_tile(Sharing sharing) {
  Variant variant{};
  variant.BM = 128, variant.BN = 256, variant.BK = 8;
  variant.block_x = 256, variant.block_y = 1;
  variant.sharing = sharing;
  return variant;
}

}  // namespace

TEST_CASE("at 4096 cubed on an H200 the tail costs 3 %, and under 1 % where tiles are cut") {
  Gpu gpu = *find_gpu("H200");
  gpu.l2_bytes_per_clock = 2600;  // a limit of all SMs together
  const Counts counts = traced_loads(1000, 1);
  const auto ceiling = [&](Sharing sharing) {
    return *ceiling_as_written(
        gpu, {4096, 4096, 4096, false, gpu.sms}, large_tile(sharing), counts);
  };
  const Ceiling before = ceiling(Sharing::ordered), after = ceiling(Sharing::cut);
  CHECK(before.busy_share == doctest::Approx(512 / (4 * 132.0)));
  CHECK(after.busy_share == doctest::Approx(512 / 132.0 / (3 + 459 / 512.0)));
  CHECK(1 - after.busy_share < 0.01);
  CHECK(after.ms[kFma] == doctest::Approx(before.ms[kFma] * (3 + 459 / 512.0) / 4));
  CHECK(after.tflops > 1.02 * before.tflops);
  // 116 tiles in two parts each, every sum stored and loaded.
  const double sums_ms =
      116 * 2 * 2 * 128 * 256 * 4 / (l2_bytes_per_clock(gpu) * 1e6 * gpu.boost_ghz);
  CHECK(after.ms[kL2] == doctest::Approx(before.ms[kL2] + sums_ms));
}

TEST_CASE("a trace of parts counts as the share of a tile that they are") {
  const Product product{128, 256, 512, false, 4};  // one tile, in 4 parts of 16 K tiles
  const Variant variant = large_tile(Sharing::cut);
  Counts parts = traced_loads(100, 1);
  parts.blocks = parts.blocks_traced = 4;
  CHECK(traced_tiles(product, variant, parts) == 1);
  Counts whole = traced_loads(100, 1);
  whole.blocks = 1;
  CHECK(traced_tiles(product, variant, whole) == 1);  // this launch cut nothing
  const Ceiling of_parts = *ceiling_as_written(plain_gpu(), product, variant, parts);
  const Ceiling of_whole = *ceiling_as_written(plain_gpu(), product, variant, whole);
  CHECK(of_parts.ms[kSmem] == of_whole.ms[kSmem]);

  // A whole tile and both parts of another were traced, of 628 blocks.
  Counts sample = traced_loads(100, 1);
  sample.blocks = 628;
  sample.blocks_traced = 3;
  CHECK(traced_tiles({4096, 4096, 4096, false, 132}, variant, sample) == doctest::Approx(2));
}

TEST_CASE("tensor cores are a unit of their own, and FFMAs beside them do something else") {
  // 4 SMs with 256 multiply-adds per nanosecond each.
  Gpu gpu = plain_gpu();
  gpu.dram_gb_per_s = 1e6;
  gpu.tf32_tflops = 4 * 256 * 2e-3;
  Variant variant{};
  variant.BM = 64, variant.BN = 64, variant.BK = 32;
  variant.block_x = 32, variant.block_y = 1;
  variant.multiplier = Multiplier::mma_tf32;
  const Product product{128, 128, 32, false};
  const Counts counts = traced_loads(16, 4);
  const double tensor = 64 * 64 * 32 / 256.0 * 1e-6;
  const Ceiling written = *ceiling_as_written(gpu, product, variant, counts);
  CHECK(written.ms[kTensor] == doctest::Approx(tensor));
  CHECK(written.ms[kIssue] == doctest::Approx((64 * 64 * 32 / 1024 + 16) / 4 * 1e-6));
  CHECK(written.ms[kFma] == 0);
  CHECK(written.bound_by == kTensor);
  CHECK(kUnitNames[written.bound_by] == "tensor");
  CHECK(written.tflops == doctest::Approx(gpu.tf32_tflops));
  CHECK(written.multiply_ms == doctest::Approx(tensor));

  CompiledKernel record{};
  record.loop.mma = 128;
  record.loop.mma_products = 64 * 64 * 32;
  record.loop.ffma = 300;
  record.loop.ldsm4 = 16;
  const Ceiling compiled = *ceiling_as_compiled(gpu, product, variant, counts, record);
  CHECK(compiled.ms[kFma] == doctest::Approx(300e-6));
  CHECK(compiled.ms[kIssue] == doctest::Approx((128 + 300 + 16) / 4 * 1e-6));
  CHECK(compiled.ms[kSmem] == doctest::Approx(64e-6));
  CHECK(shared_loads_as_compiled(product, variant, counts, record).requests == 16);
  CHECK(compiled.ms[kTensor] == doctest::Approx(tensor));

  // Hopper's mma.sync, its wgmma, and a GPU without tf32.
  gpu.mma_share = 0.5;
  CHECK(
      ceiling_as_written(gpu, product, variant, counts)->ms[kTensor] ==
      doctest::Approx(2 * tensor));
  variant.multiplier = Multiplier::wgmma_tf32;
  CHECK(ceiling_as_written(gpu, product, variant, counts)->ms[kTensor] == doctest::Approx(tensor));

  // A warpgroup's wgmma reads its operand from shared memory: 64 x 64 x 32 products are 4 of
  // m64n64k8, each of which reads 64 x 8 numbers, 16 times 128 bytes.
  Counts with_wgmma = counts;
  with_wgmma.mma_products = 64 * 64 * 32;
  CHECK(
      ceiling_as_written(gpu, product, variant, with_wgmma)->ms[kSmem] ==
      doctest::Approx(ceiling_as_written(gpu, product, variant, counts)->ms[kSmem] + 64e-6));
  variant.multiplier = Multiplier::mma_tf32;
  CHECK(
      ceiling_as_written(gpu, product, variant, with_wgmma)->ms[kSmem] ==
      ceiling_as_written(gpu, product, variant, counts)->ms[kSmem]);
  gpu.tf32_tflops = 0;
  CHECK(!ceiling_as_written(gpu, product, variant, counts));
  CHECK(!ceiling_as_compiled(gpu, product, variant, counts, record));
}

TEST_CASE(
    "Hopper's warps multiply at 62 % of the tensor cores' rate, its warpgroups at all of it") {
  const Gpu &h200 = *find_gpu("H200"), &a100 = *find_gpu("A100");
  CHECK(peak_tflops(h200, Multiplier::ffma) == doctest::Approx(66.9).epsilon(0.001));
  CHECK(peak_tflops(h200, Multiplier::mma_tf32) == doctest::Approx(0.62 * 494.7));
  CHECK(peak_tflops(h200, Multiplier::wgmma_tf32) == 494.7);
  CHECK(peak_tflops(h200, Multiplier::wgmma_bf16) == 989.4);
  CHECK(peak_tflops(a100, Multiplier::mma_tf32) == 156);
  CHECK(peak_tflops(*find_gpu("T4"), Multiplier::mma_tf32) == 0);
}

TEST_CASE("without a multiplication or a trace there is no ceiling") {
  const Counts counts = traced_loads(1, 1);
  CHECK(!ceiling_as_written(plain_gpu(), {0, 32, 100, false}, one_warp(0), counts));
  CHECK(!ceiling_as_written(plain_gpu(), {8, 32, 0, false}, one_warp(0), counts));
  CHECK(!ceiling_as_written(plain_gpu(), kProduct, one_warp(0), Counts{}));
  CHECK(!ceiling_as_compiled(plain_gpu(), kProduct, one_warp(0), Counts{}, CompiledKernel{}));
  CompiledKernel without_shape{};  // of which no number of products is known
  without_shape.loop.mma = 16;
  CHECK(!ceiling_as_compiled(plain_gpu(), kProduct, one_warp(0), counts, without_shape));
}

}  // namespace model
