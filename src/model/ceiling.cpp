#include "model/ceiling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/share_out.h"

namespace model {

namespace {

// The demand of one tile of C on the units.
struct Work {
  double ffmas;  // warp instructions, like all of the following except the last two
  double instructions;
  double smem_load_wavefronts;
  double operand_wavefronts;  // of wgmma
  double smem_store_wavefronts;
  double l1_lines;
  double l2_bytes;
  double tensor_products;
};

double warps(const Variant& variant) {
  return std::ceil(variant.threads() / 32.0);
}

double results_per_thread(const Variant& variant) {
  return static_cast<double>(variant.BM) * variant.BN / variant.threads();
}

// The multiply-adds of a tensor core's instruction, for one warp. That of wgmma depends on the
// width that a kernel chooses: m64n256 is the widest.
double products_of_instruction(Multiplier multiplier) {
  switch (multiplier) {
    case Multiplier::ffma:
      return 32;
    case Multiplier::mma_tf32:
      return 16 * 8 * 8;
    case Multiplier::wgmma_tf32:
      return 64 * 256 * 8 / 4;
    case Multiplier::wgmma_bf16:
      return 64 * 256 * 16 / 4;
    case Multiplier::wgmma_3xtf32:
      return 64 * 128 * 8 / 4 / 3.0;
  }
  return 32;
}

// With which wgmma reads its operand in shared memory, 128 bytes at a time: an m64nNk8 reads N x 8
// numbers of 4 bytes once for 64 rows of sums. For tf32, ncu counts as many on an H200
// (results/tensor-log.md).
double operand_wavefronts(const Variant& variant, double products) {
  if (variant.multiplier == Multiplier::ffma || variant.multiplier == Multiplier::mma_tf32)
    return 0;
  constexpr double kRows = 64, kBytesPerWavefront = 128;
  return products * bytes_of_element(variant) / (kRows * kBytesPerWavefront);
}

int k_tiles(const Product& product, const Variant& variant) {
  return variant.BK > 0 ? padded_K(product, variant) / variant.BK : 1;
}

ShareOut shares_of(const Product& product, const Variant& variant) {
  return share_out(variant, product.M, product.N, product.K, product.sms);
}

bool is_known(const Product& product, const Variant& variant, const Counts& counts) {
  return product.M > 0 && product.N > 0 && product.K > 0 && counts.blocks_traced > 0 &&
         variant.threads() > 0 && variant.BM > 0 && variant.BN > 0;
}

bool can_multiply(const Gpu& gpu, const Variant& variant) {
  return variant.multiplier == Multiplier::ffma || peak_tflops(gpu, variant.multiplier) > 0;
}

Work work_as_written(const Product& product, const Variant& variant, const Counts& counts) {
  const double traced = traced_tiles(product, variant, counts);
  const auto a_tile = [&](std::int64_t total) { return static_cast<double>(total) / traced; };
  const double K = padded_K(product, variant);
  const bool tensor = variant.multiplier != Multiplier::ffma;
  const double multiplications = warps(variant) * multiplications_of_a_warp(product, variant);
  // A cp.async is one instruction, but is counted on both sides.
  const double accesses = a_tile(
      counts.gmem_loads.requests + counts.gmem_stores.requests + counts.smem_loads.requests +
      counts.smem_stores.requests - counts.async_smem.requests);
  const double of_C = static_cast<double>(variant.BM) * variant.BN * (product.reads_C ? 2 : 1);
  return {
      .ffmas = tensor ? 0 : multiplications,
      .instructions = multiplications + accesses,
      .smem_load_wavefronts = a_tile(counts.smem_loads.pieces),
      .operand_wavefronts = operand_wavefronts(variant, a_tile(counts.mma_products)),
      .smem_store_wavefronts = a_tile(counts.smem_stores.pieces),
      .l1_lines = a_tile(counts.gmem_loads.lines + counts.gmem_stores.lines),
      .l2_bytes = bytes_of_element(variant) * (variant.BM + variant.BN) * K + 4 * of_C,
      .tensor_products = tensor ? static_cast<double>(variant.BM) * variant.BN * K : 0};
}

Ceiling ceiling_of(
    const Gpu& gpu, const Product& product, const Variant& variant, const Work& work) {
  const double cycles_per_ms = gpu.boost_ghz * 1e6;
  const int tiles = tiles_of(variant, product.M, product.N);
  const ShareOut shares = shares_of(product, variant);
  const double most = most_tiles(shares, tiles, k_tiles(product, variant), gpu.sms);  // of one SM
  const auto on_sm = [&](double cycles) { return most * cycles / cycles_per_ms; };
  // The parts' sums: each is stored once and loaded once. One SM adds up all parts of a tile.
  const double sums_bytes = 4.0 * static_cast<double>(floats_of_sums(shares, variant, tiles));
  const double most_sums_bytes =
      shares.parts > 1 ? 4.0 * (1 + shares.parts) * variant.BM * variant.BN : 0;

  Ceiling result{};
  result.blocks_per_sm = most;
  result.busy_share = tiles / (most * gpu.sms);
  result.ms[kFma] = on_sm(work.ffmas * 32 / gpu.fp32_lanes_per_sm);
  result.ms[kIssue] = on_sm(work.instructions / kSchedulers);
  const double loaded = work.smem_load_wavefronts + work.operand_wavefronts;
  result.ms[kSmem] = on_sm(loaded + work.smem_store_wavefronts);
  result.ms[kL1] = on_sm(work.l1_lines);
  result.ms[kL2] = std::max(
      (tiles * work.l2_bytes + 2 * sums_bytes) / (l2_bytes_per_clock(gpu) * cycles_per_ms),
      on_sm(work.l2_bytes / l2_bytes_per_sm_clock) +
          most_sums_bytes / (l2_bytes_per_sm_clock * cycles_per_ms));
  if (work.tensor_products > 0) {
    const double of_an_sm = peak_tflops(gpu, variant.multiplier) / gpu.sms;
    result.ms[kTensor] = most * 2 * work.tensor_products / of_an_sm * 1e-9;
  }
  const double M = product.M, N = product.N, K = product.K;
  const double dram_bytes =
      bytes_of_element(variant) * (M * K + K * N) + 4 * M * N * (product.reads_C ? 2 : 1);
  result.ms[kDram] = dram_bytes / (gpu.dram_gb_per_s * 1e6);

  const auto slowest = std::max_element(result.ms.begin(), result.ms.end());
  result.bound_by = static_cast<UnitIndex>(slowest - result.ms.begin());
  const auto tflops = [&](double ms) { return 2 * M * N * K / ms * 1e-9; };
  result.tflops = tflops(*slowest);
  result.copy_ms = std::max(
      {result.ms[kL1], result.ms[kL2], result.ms[kDram], on_sm(work.smem_store_wavefronts)});
  result.multiply_ms =
      std::max({result.ms[kFma], result.ms[kTensor], result.ms[kIssue], on_sm(loaded)});
  result.no_overlap_tflops = tflops(result.copy_ms + result.multiply_ms);
  return result;
}

}  // namespace

double peak_tflops(const Gpu& gpu, Multiplier multiplier) {
  switch (multiplier) {
    case Multiplier::ffma:
      return 2e-3 * gpu.sms * gpu.fp32_lanes_per_sm * gpu.boost_ghz;
    case Multiplier::mma_tf32:
      return gpu.tf32_tflops * gpu.mma_share;
    case Multiplier::wgmma_tf32:
      return gpu.tf32_tflops;
    case Multiplier::wgmma_bf16:
      return gpu.bf16_tflops;
    case Multiplier::wgmma_3xtf32:
      return gpu.tf32_tflops / 3;
  }
  return 0;
}

int padded_K(const Product& product, const Variant& variant) {
  if (variant.BK == 0) return product.K;
  return (product.K + variant.BK - 1) / variant.BK * variant.BK;
}

double multiplications_of_a_warp(const Product& product, const Variant& variant) {
  const double of_a_thread = results_per_thread(variant) * padded_K(product, variant);
  return of_a_thread * 32 / products_of_instruction(variant.multiplier);
}

Rounds rounds_along_K(
    const Product& product, const Variant& variant, const CompiledKernel& record) {
  return rounds(record, results_per_thread(variant), padded_K(product, variant), variant.BK);
}

double traced_tiles(const Product& product, const Variant& variant, const Counts& counts) {
  const int tiles = tiles_of(variant, product.M, product.N);
  const ShareOut shares = shares_of(product, variant);
  // A trace may be of a launch with a block for each tile, although this product's would have
  // others.
  const bool others = shares.parts > 1 || is_in_turns(shares, tiles);
  if (!others || counts.blocks != blocks_of(shares, tiles)) {
    return static_cast<double>(counts.blocks_traced);
  }
  if (counts.blocks_traced == counts.blocks) return tiles;
  return tiles_computed(shares, tiles, k_tiles(product, variant), sample_of(shares, tiles));
}

SharedLoads shared_loads_as_compiled(
    const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record) {
  const double traced = traced_tiles(product, variant, counts);
  const Rounds times = rounds_along_K(product, variant, record);
  const auto a_tile = [&](int InstructionMix::*kind) {
    return warps(variant) * (times.loop * record.loop.*kind + times.inner * record.inner.*kind);
  };
  const double wide_64 = a_tile(&InstructionMix::lds64), wide_128 = a_tile(&InstructionMix::lds128);
  const double matrices = a_tile(&InstructionMix::ldsm1) + a_tile(&InstructionMix::ldsm2) +
                          a_tile(&InstructionMix::ldsm4);
  SharedLoads loads{
      a_tile(&InstructionMix::lds32) + wide_64 + wide_128 + matrices,
      static_cast<double>(counts.smem_loads.pieces) / traced};
  // Wide loads in the source were already traced as such.
  if (counts.smem_loads.floats.sum != counts.smem_loads.accesses.sum) return loads;

  // The record does not say which loads became wide. For a bound, the loads are chosen that gain
  // the most.
  struct Gain {
    double requests, wavefronts_saved_each;
  };
  // Source requests that are now part of a wide one.
  double left = (2 * wide_64 + 4 * wide_128) * traced;
  const double share_64 = left > 0 ? 2 * wide_64 * traced / left : 0;
  std::vector<Gain> gains;
  for (std::size_t w = 0; w < counts.widenable.size(); ++w) {
    const Widenable& group = counts.widenable[w];
    if (group.requests == 0) continue;
    const double requests = static_cast<double>(group.requests);
    const double wide = share_64 * static_cast<double>(group.wavefronts_64) +
                        (1 - share_64) * static_cast<double>(group.wavefronts_128);
    gains.push_back({requests, static_cast<double>(w) - wide / requests});
  }
  std::sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) {
    return a.wavefronts_saved_each > b.wavefronts_saved_each;
  });
  for (const Gain& gain : gains) {
    const double taken = std::min(left, gain.requests);
    loads.wavefronts -= taken * gain.wavefronts_saved_each / traced;
    left -= taken;
  }
  return loads;
}

std::optional<Ceiling> ceiling_as_written(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts) {
  if (!is_known(product, variant, counts) || !can_multiply(gpu, variant)) return std::nullopt;
  return ceiling_of(gpu, product, variant, work_as_written(product, variant, counts));
}

std::optional<Ceiling> ceiling_as_compiled(
    const Gpu& gpu, const Product& product, const Variant& variant, const Counts& counts,
    const CompiledKernel& record) {
  if (!is_known(product, variant, counts) || !can_multiply(gpu, variant)) return std::nullopt;
  const Rounds times = rounds_along_K(product, variant, record);
  if (times.loop == 0 && times.inner == 0) return std::nullopt;
  Work work = work_as_written(product, variant, counts);
  work.instructions =
      warps(variant) * (times.loop * record.loop.all() + times.inner * record.inner.all());
  if (variant.multiplier != Multiplier::ffma) {  // then FFMAs do something else
    work.ffmas = warps(variant) * (times.loop * record.loop.ffma + times.inner * record.inner.ffma);
  }
  work.smem_load_wavefronts = shared_loads_as_compiled(product, variant, counts, record).wavefronts;
  return ceiling_of(gpu, product, variant, work);
}

}  // namespace model
