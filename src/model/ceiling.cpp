#include "model/ceiling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/stage.h"

namespace model {

namespace {

// The demand of one tile of C on the units.
struct Work {
  double ffmas;  // warp instructions, like the next one
  double instructions;
  double smem_load_wavefronts;
  double operand_wavefronts;  // of wgmma
  double smem_store_wavefronts;
  double l1_lines;
  double l1_bytes;
  double l2_bytes;
  double tensor_products;
};

double warps(const Variant& variant) {
  return std::ceil(variant.threads() / 32.0);
}

struct Multiplying {
  double products;  // multiply-adds of an instruction, for one warp
  // Of each product of fp32: from two parts they are high * high, high * low and low * high.
  double of_result;
  double of_tf32;  // how many are multiplied while a tensor core multiplies one of tf32
};

// The products of a wgmma depend on the width that a kernel chooses: m64n256 is the widest.
const Multiplying& of(Multiplier multiplier) {
  static constexpr Multiplying kAll[] = {
      {32, 1, 0},                  // ffma
      {16 * 8 * 8, 1, 1},          // mma_tf32
      {64 * 256 * 8 / 4, 1, 1},    // wgmma_tf32
      {64 * 256 * 16 / 4, 1, 2},   // wgmma_bf16
      {64 * 128 * 8 / 4, 3, 1},    // wgmma_3xtf32
      {64 * 128 * 16 / 4, 3, 2}};  // wgmma_3xf16
  return kAll[static_cast<int>(multiplier)];
}

// For each step of K.
double products_of_a_thread(const Variant& variant) {
  return of(variant.multiplier).of_result * variant.BM * variant.BN / variant.threads();
}

// With which wgmma reads its operands in shared memory, 128 bytes at a time: an m64nNk8 reads N x 8
// numbers of 4 bytes once for 64 rows of sums. For tf32, ncu counts as many on an H200
// (results/tensor-log.md). Of 16-bit numbers, 16 instead of 8, the kernels leave the 64 rows of the
// first operand in shared memory, too, and these are read once for N columns of sums.
double operand_wavefronts(const Variant& variant, double products) {
  if (variant.multiplier == Multiplier::ffma || variant.multiplier == Multiplier::mma_tf32)
    return 0;
  constexpr double kRows = 64, kRowBytes = 32;
  const bool halves = multiplies_parts(variant) || multiplies_bf16(variant);
  const double bytes = halves ? 2 : 4;
  const double columns = 4 * of(variant.multiplier).products / (kRows * kRowBytes / bytes);
  return products * bytes * (1 / kRows + (halves ? 1 / columns : 0)) / kWavefrontBytes;
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
  return products_per_clock(gpu, variant.multiplier) > 0;
}

Work work_as_written(const Product& product, const Variant& variant, const Counts& counts) {
  const double traced = traced_tiles(product, variant, counts);
  const auto a_tile = [&](std::int64_t total) { return static_cast<double>(total) / traced; };
  const double K = padded_K(product, variant);
  const bool tensor = variant.multiplier != Multiplier::ffma;
  const double multiplications = warps(variant) * multiplications_of_a_warp(product, variant);
  const double additions = warps(variant) * additions_of_a_warp(product, variant);
  // A cp.async is one instruction, but is counted on both sides.
  const double accesses = a_tile(
      counts.gmem_loads.requests + counts.gmem_stores.requests + counts.smem_loads.requests +
      counts.smem_stores.requests - counts.async_smem.requests);
  const double of_C = static_cast<double>(variant.BM) * variant.BN * (product.reads_C ? 2 : 1);
  return {
      .ffmas = tensor ? additions : multiplications,
      .instructions = multiplications + additions + accesses,
      .smem_load_wavefronts = a_tile(counts.smem_loads.pieces),
      .operand_wavefronts = operand_wavefronts(variant, a_tile(counts.mma_products)),
      .smem_store_wavefronts = a_tile(counts.smem_stores.pieces),
      .l1_lines = a_tile(counts.gmem_loads.lines + counts.gmem_stores.lines),
      .l1_bytes = kSectorBytes * a_tile(counts.gmem_loads.pieces + counts.gmem_stores.pieces),
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
  // The slices' sums: each is stored once and loaded once. One SM adds up all slices of a tile.
  const double sums_bytes = 4.0 * static_cast<double>(floats_of_sums(shares, variant, tiles));
  const double most_sums_bytes =
      shares.slices > 1 ? 4.0 * (1 + shares.slices) * variant.BM * variant.BN : 0;

  Ceiling result{};
  result.blocks_per_sm = most;
  result.busy_share = tiles / (most * gpu.sms);
  result.ms[kFma] = on_sm(work.ffmas * 32 / gpu.fp32_lanes_per_sm);
  result.ms[kIssue] = on_sm(work.instructions / kSchedulers);
  const double of_wavefront = kWavefrontBytes / l1_bytes_per_clock(gpu);  // cycles
  const double stored = of_wavefront * work.smem_store_wavefronts;
  const double loaded = of_wavefront * (work.smem_load_wavefronts + work.operand_wavefronts);
  result.ms[kSmem] = on_sm(loaded + stored);
  result.ms[kL1] = on_sm(std::max(work.l1_lines, work.l1_bytes / l1_bytes_per_clock(gpu)));
  result.bytes[kSmem] = tiles * kWavefrontBytes / of_wavefront * (loaded + stored);
  result.bytes[kL1] = tiles * work.l1_bytes;
  result.bytes[kL2] = tiles * work.l2_bytes + 2 * sums_bytes;
  result.ms[kL2] = std::max(
      result.bytes[kL2] / (l2_bytes_per_clock(gpu) * cycles_per_ms),
      on_sm(work.l2_bytes / l2_bytes_per_sm_clock) +
          most_sums_bytes / (l2_bytes_per_sm_clock * cycles_per_ms));
  if (work.tensor_products > 0) {
    result.ms[kTensor] = on_sm(work.tensor_products / products_per_clock(gpu, variant.multiplier));
  }
  const double M = product.M, N = product.N, K = product.K;
  result.bytes[kDram] =
      bytes_of_element(variant) * (M * K + K * N) + 4 * M * N * (product.reads_C ? 2 : 1);
  result.ms[kDram] = result.bytes[kDram] / (gpu.dram_gb_per_s * 1e6);

  const auto slowest = std::max_element(result.ms.begin(), result.ms.end());
  result.bound_by = static_cast<UnitIndex>(slowest - result.ms.begin());
  result.before_ms =
      bytes_of_parts(variant, product.M, product.N, product.K) / (gpu.dram_gb_per_s * 1e6);
  const auto tflops = [&](double ms) { return 2 * M * N * K / (ms + result.before_ms) * 1e-9; };
  result.tflops = tflops(*slowest);
  result.copy_ms = std::max({result.ms[kL1], result.ms[kL2], result.ms[kDram], on_sm(stored)});
  result.multiply_ms =
      std::max({result.ms[kFma], result.ms[kTensor], result.ms[kIssue], on_sm(loaded)});
  result.no_overlap_tflops = tflops(result.copy_ms + result.multiply_ms);
  return result;
}

}  // namespace

double products_per_clock(const Gpu& gpu, Multiplier multiplier) {
  if (multiplier == Multiplier::ffma) return gpu.fp32_lanes_per_sm;
  const double share = multiplier == Multiplier::mma_tf32 ? gpu.mma_share : 1;
  return gpu.tf32_products_per_clock * share * of(multiplier).of_tf32 / of(multiplier).of_result;
}

double peak_tflops(const Gpu& gpu, Multiplier multiplier) {
  return 2e-3 * gpu.sms * products_per_clock(gpu, multiplier) * gpu.boost_ghz;
}

double bytes_of_parts(const Variant& variant, int M, int N, int K) {
  if (!multiplies_parts(variant)) return 0;
  const double of_A = 4.0 * M * K, of_B = 4.0 * K * N;
  return 2 * (of_A + of_B) + (variant.has_units ? of_B : 0);
}

int padded_K(const Product& product, const Variant& variant) {
  if (variant.BK == 0) return product.K;
  return (product.K + variant.BK - 1) / variant.BK * variant.BK;
}

double multiplications_of_a_warp(const Product& product, const Variant& variant) {
  const double of_a_thread = products_of_a_thread(variant) * padded_K(product, variant);
  return of_a_thread * 32 / of(variant.multiplier).products;
}

double additions_of_a_warp(const Product& product, const Variant& variant) {
  if (of(variant.multiplier).of_result == 1) return 0;
  const int to_split = multiplies_parts(variant) ? 0 : variant.BM + variant.BN;
  const double of_a_step = 1.0 * variant.BM * variant.BN / variant.BK + to_split;
  return of_a_step * padded_K(product, variant) / variant.threads();
}

Rounds rounds(const CompiledKernel& record, double products, int K, int BK) {
  const double multiplications = products * K;
  const bool tensor = record.loop.mma_products + record.inner.mma_products > 0;
  const auto of_a_thread = [&](const InstructionMix& mix) {
    return tensor ? mix.mma_products / 32.0 : mix.ffma;
  };
  const double loop = of_a_thread(record.loop), inner = of_a_thread(record.inner);
  if (inner == 0) return {loop > 0 ? multiplications / loop : 0, 0};
  const double tiles = BK > 0 ? static_cast<double>(K) / BK : 0;
  return {tiles, std::max(0.0, multiplications - tiles * loop) / inner};
}

Rounds rounds_along_K(
    const Product& product, const Variant& variant, const CompiledKernel& record) {
  return rounds(record, products_of_a_thread(variant), padded_K(product, variant), variant.BK);
}

double traced_tiles(const Product& product, const Variant& variant, const Counts& counts) {
  const int tiles = tiles_of(variant, product.M, product.N);
  const ShareOut shares = shares_of(product, variant);
  // A trace may be of a launch with a block for each tile, although this product's would have
  // others.
  const bool others = shares.slices > 1 || is_in_turns(shares, tiles);
  if (!others || counts.blocks != blocks_of(shares, tiles)) {
    return static_cast<double>(counts.blocks_traced);
  }
  if (counts.blocks_traced == counts.blocks) return tiles;
  const bool only_first = counts.blocks_traced == 1;
  return tiles_computed(
      shares, tiles, k_tiles(product, variant),
      only_first ? std::vector<std::int64_t>{0} : sample_of(shares, tiles));
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
  for (const LineCounts& line : counts.lines) {
    const auto& [requests_64, wavefronts_64, most_64] = line.merging.by_64;
    if (line.bytes != kWordBytes || requests_64 == 0) continue;
    // Every other word begins a pair. The others of the line cannot be wide.
    const double requests = 2 * static_cast<double>(requests_64);
    const double wide = share_64 * static_cast<double>(wavefronts_64) +
                        (1 - share_64) * static_cast<double>(line.merging.by_128.wavefronts);
    gains.push_back(
        {requests,
         static_cast<double>(line.pieces) / static_cast<double>(line.requests) - wide / requests});
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
    work.ffmas +=
        warps(variant) * (times.loop * record.loop.ffma + times.inner * record.inner.ffma);
  }
  work.smem_load_wavefronts = shared_loads_as_compiled(product, variant, counts, record).wavefronts;
  return ceiling_of(gpu, product, variant, work);
}

namespace {

struct Extrapolate {
  std::int64_t steps;  // beyond `far`

  void operator()(std::int64_t& far, std::int64_t near) const { far += steps * (far - near); }
  void operator()(PerThread& far, const PerThread& near) const {
    (*this)(far.min, near.min);
    (*this)(far.max, near.max);
    (*this)(far.sum, near.sum);
  }
  void requests(Requests& far, const Requests& near) const {
    for (std::int64_t Requests::*member : kOfRequests) (*this)(far.*member, near.*member);
  }
  void operator()(Traffic& far, const Traffic& near) const {
    (*this)(far.accesses, near.accesses);
    (*this)(far.floats, near.floats);
    (*this)(far.bytes, near.bytes);
    requests(far, near);
  }
  void operator()(LineCounts& far, const LineCounts& near) const {
    requests(far, near);
    const auto sums = sums_of(far);
    const auto of_near = sums_of(near);
    for (std::size_t i = 0; i < sums.size(); ++i) (*this)(*sums[i], *of_near[i]);
  }
};

}  // namespace

Counts extrapolated(const Counts& near, const Counts& far, std::int64_t steps) {
  Counts counts = far;
  counts.along_part_of_K = true;
  const Extrapolate extend{steps - 1};
  for (Traffic Counts::*member : kTraffic) extend(counts.*member, near.*member);
  for (std::int64_t Counts::*member : kSums) extend(counts.*member, near.*member);
  const auto find = [](const Counts& of, const LineCounts& line) {
    return std::find_if(of.lines.begin(), of.lines.end(), [&](const LineCounts& other) {
      return is_same_access(other, line);
    });
  };
  for (LineCounts& line : counts.lines) {
    const auto known = find(near, line);
    extend(line, known == near.lines.end() ? LineCounts{} : *known);
  }
  for (LineCounts line : near.lines) {
    if (find(far, line) != far.lines.end()) continue;
    Extrapolate{-steps}(line, {});
    counts.lines.push_back(line);
  }
  for (const Hazard& hazard : near.hazards) add(counts.hazards, hazard);
  return counts;
}

namespace {

// All in cycles, for one block along all of K.
struct BlockCycles {
  std::array<double, kUnits> demand;  // of the SM's units
  double issue;                       // on its schedulers, of which it may not occupy all
  double stalls;                      // between instructions, not filled by its other warps
  double scheduler_share;             // of the SM's schedulers that it occupies
  double smem_latency, smem_hidden;   // hidden: what it issues during its loads
  double l2_port;                     // of the SM, see below
  double gmem_latency, gmem_hidden;
  double barriers;
};

// The schedulers of a block, each with `warps` of its warps, are busy for `issue` cycles. Each warp
// also stalls between its instructions, `stalls` cycles in all. What remains of that when the other
// warps have filled what they can: the same queueing as in rounds_of, with warps as the customers.
double stalls_left(double issue, double stalls, double warps) {
  if (!(issue > 0)) return stalls;
  const double each = issue / warps;
  double queue = 0, round = each + stalls;
  for (int n = 1; n <= warps; ++n) {
    round = each * (1 + queue) + stalls;
    queue = n * each * (1 + queue) / round;
  }
  return round - issue;
}

// How long a load from global memory takes for the block (see the model of waiting in ceiling.h).
double gmem_latency_each(
    const Gpu& gpu, const Product& product, const Variant& variant, const CompiledKernel& record,
    double l1_lines) {
  const Latencies cycles = latencies();
  const double K = padded_K(product, variant);
  const double matrices = 4 * K * (static_cast<double>(product.M) + product.N);
  const double beyond_l1 = matrices <= gpu.l2_mib * 0x1p20 ? cycles.l2 : cycles.dram;
  const InstructionMix& loop = record.loop;
  const bool has_barriers = loop.bar + record.inner.bar > 0;
  if (has_barriers || loop.gmem_waits == 0) return beyond_l1;
  const double bytes = 4 * K * (variant.BM + variant.BN);
  const double misses = std::min(1.0, bytes / (kWavefrontBytes * std::max(1.0, l1_lines)));
  const double loads = loop.ldg32 + loop.ldg64 + loop.ldg128;
  const double any_misses = 1 - std::pow(1 - misses, loads / loop.gmem_waits);
  return cycles.l1 + any_misses * (beyond_l1 - cycles.l1);
}

BlockCycles block_of(
    const Gpu& gpu, const Product& product, const Variant& variant, const Ceiling& ceiling,
    const CompiledKernel& record) {
  const Latencies cycles = latencies();
  const Rounds times = rounds_along_K(product, variant, record);
  const auto along_K = [&](int InstructionMix::*kind) {
    return times.loop * record.loop.*kind + times.inner * record.inner.*kind;
  };
  BlockCycles block{};
  for (int unit = 0; unit < kUnits; ++unit)
    block.demand[unit] = ceiling.ms[unit] * gpu.boost_ghz * 1e6 / ceiling.blocks_per_sm;
  const double warps = std::ceil(variant.threads() / 32.0);
  const double schedulers = std::min<double>(warps, kSchedulers);
  const double warps_each = std::ceil(warps / kSchedulers);  // of the block, on a scheduler
  block.scheduler_share = schedulers / kSchedulers;
  const double slots = block.demand[kIssue] / block.scheduler_share;
  const double banks = along_K(&InstructionMix::bank_cycles) * warps_each;
  const double multiplying = std::max(block.demand[kFma], block.demand[kTensor]);
  block.issue = std::max(multiplying / block.scheduler_share, slots + banks);
  block.stalls = stalls_left(block.issue, along_K(&InstructionMix::stall_cycles), warps_each);
  // The time that an instruction takes a scheduler of the block, if the block is alone.
  const double pace = slots > 0 ? (block.issue + block.stalls) / slots : 1;

  const double others = block.issue * (1 - 1 / warps_each);  // while one warp of them waits
  block.smem_latency = along_K(&InstructionMix::smem_waits) * cycles.smem;
  block.smem_hidden = along_K(&InstructionMix::smem_ahead) * warps_each * pace + others;
  block.barriers = along_K(&InstructionMix::bar) * cycles.barrier;

  // The L2 cache and DRAM serve a block's tile in few cycles, because they serve all SMs at once.
  // How much they can serve bounds all blocks together; one block waits for its SM's port.
  block.l2_port =
      4.0 * padded_K(product, variant) * (variant.BM + variant.BN) / l2_bytes_per_sm_clock;
  const double each = gmem_latency_each(gpu, product, variant, record, block.demand[kL1]);
  const double tiles = variant.BK > 0 ? padded_K(product, variant) / variant.BK : 0;
  if (variant.pipeline > 0) {
    block.gmem_latency = tiles * each;
    block.gmem_hidden = variant.pipeline * (block.issue + block.stalls);
  } else {
    block.gmem_latency = along_K(&InstructionMix::gmem_waits) * each;
    block.gmem_hidden = along_K(&InstructionMix::gmem_ahead) * warps_each * pace;
  }
  return block;
}

// One iteration of the cycle, when `blocks` are resident.
struct Round {
  double issue, stalls, smem, gmem, barriers;
  double total() const { return issue + stalls + smem + gmem + barriers; }
};

std::array<Round, 2> rounds_of(const BlockCycles& block, int most, int rest) {
  // L1 and shared memory are one memory with one data stage.
  const double data = block.demand[kSmem] + block.demand[kL1];
  const double issue_each = block.issue * block.scheduler_share;
  const double busiest =
      std::max({data, issue_each, *std::max_element(block.demand.begin(), block.demand.end())});
  std::array<double, kUnits> queue{};
  std::array<Round, 2> result{};
  for (int n = 1; n <= most; ++n) {
    const auto at = [&](int unit) {
      const bool is_data = unit == kSmem || unit == kL1;
      const double demand = unit == kL2 ? block.l2_port : block.demand[unit];
      return demand * (1 + (is_data ? queue[kSmem] + queue[kL1] : queue[unit]));
    };
    const double issue = block.issue * (1 + block.scheduler_share * queue[kIssue]);
    const double copies = at(kL1) + at(kL2);
    Round round{
        .issue = issue,
        .stalls = block.stalls,
        .smem = std::max(0.0, at(kSmem) + block.smem_latency - block.smem_hidden),
        .gmem = std::max(0.0, copies + block.gmem_latency - block.gmem_hidden),
        .barriers = block.barriers};
    // Hidden work still takes the unit's time.
    round.issue += std::max(0.0, n * busiest - round.total());
    const double total = round.total();
    std::array<double, kUnits> next{};
    for (int unit = 0; unit < kUnits; ++unit)
      next[unit] = n * std::min(1.0, (unit == kIssue ? issue : at(unit)) / total);
    queue = next;
    if (n == most) result[0] = round;
    if (n == rest) result[1] = round;
  }
  return result;
}

}  // namespace

Latencies latencies() {
  return {.smem = 23, .l1 = 35, .l2 = 278, .dram = 686, .barrier = 29};
}

std::optional<Waiting> with_waiting(
    const Gpu& gpu, const Product& product, const Variant& variant, const Ceiling& ceiling,
    const CompiledKernel& record, const Occupancy& occupancy) {
  if (occupancy.blocks_per_sm < 1 || !(ceiling.blocks_per_sm > 0)) return std::nullopt;
  const BlockCycles block = block_of(gpu, product, variant, ceiling, record);
  const auto whole = [](double blocks) { return static_cast<int>(std::ceil(blocks)); };
  const int resident = std::min(occupancy.blocks_per_sm, whole(ceiling.blocks_per_sm));
  // The SM's blocks run in waves; the last wave may have fewer.
  const double full_waves = std::floor(ceiling.blocks_per_sm / resident);
  const int rest = whole(ceiling.blocks_per_sm - full_waves * resident);
  const auto [full, last] = rounds_of(block, resident, rest);
  const double cycles = full_waves * full.total() + last.total();

  Waiting result{};
  for (int unit = 0; unit < kUnits; ++unit)
    result.busy[unit] = ceiling.blocks_per_sm * block.demand[unit] / cycles;
  result.busiest = static_cast<UnitIndex>(
      std::max_element(result.busy.begin(), result.busy.end()) - result.busy.begin());
  const double bound_ms = ceiling.ms[ceiling.bound_by], busy = result.busy[ceiling.bound_by];
  const double before_ms = ceiling.before_ms;
  result.tflops = ceiling.tflops * (bound_ms + before_ms) / (bound_ms / busy + before_ms);
  result.resident_blocks = resident;
  result.warps_per_scheduler =
      static_cast<double>(resident) * occupancy.warps_per_block / kSchedulers;
  result.issuing = (full.issue + full.stalls) / full.total();
  result.waiting_for_smem = full.smem / full.total();
  result.waiting_for_gmem = full.gmem / full.total();
  result.at_barriers = full.barriers / full.total();
  return result;
}

}  // namespace model
