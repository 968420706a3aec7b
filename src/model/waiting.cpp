#include "model/waiting.h"

#include <algorithm>
#include <cmath>

namespace model {

namespace {

// All in cycles, for one block along all of K.
struct Block {
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

bool has_barriers(const CompiledKernel& record) {
  return record.loop.bar + record.inner.bar > 0;
}

// How long a load from global memory takes for the block (see the head of waiting.h).
double gmem_latency_each(
    const Gpu& gpu, const Product& product, const Variant& variant, const CompiledKernel& record,
    double l1_lines) {
  const Latencies cycles = latencies();
  const double K = padded_K(product, variant);
  const double matrices = 4 * K * (static_cast<double>(product.M) + product.N);
  const double beyond_l1 = matrices <= gpu.l2_mib * 0x1p20 ? cycles.l2 : cycles.dram;
  const InstructionMix& loop = record.loop;
  if (has_barriers(record) || loop.gmem_waits == 0) return beyond_l1;
  const double bytes = 4 * K * (variant.BM + variant.BN);
  const double misses = std::min(1.0, bytes / (l1_bytes_per_sm_clock * std::max(1.0, l1_lines)));
  const double loads = loop.ldg32 + loop.ldg64 + loop.ldg128;
  const double any_misses = 1 - std::pow(1 - misses, loads / loop.gmem_waits);
  return cycles.l1 + any_misses * (beyond_l1 - cycles.l1);
}

Block block_of(
    const Gpu& gpu, const Product& product, const Variant& variant, const Ceiling& ceiling,
    const CompiledKernel& record) {
  const Latencies cycles = latencies();
  const Rounds times = rounds_along_K(product, variant, record);
  const auto along_K = [&](int InstructionMix::*kind) {
    return times.loop * record.loop.*kind + times.inner * record.inner.*kind;
  };
  Block block{};
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
    block.gmem_hidden = (variant.pipeline - 1) * (block.issue + block.stalls);
  } else {
    block.gmem_latency = along_K(&InstructionMix::gmem_waits) * each;
    block.gmem_hidden = along_K(&InstructionMix::gmem_ahead) * warps_each * pace;
  }
  return block;
}

// One way round the circle, when `blocks` are resident.
struct Round {
  double issue, stalls, smem, gmem, barriers;
  double total() const { return issue + stalls + smem + gmem + barriers; }
};

std::array<Round, 2> rounds_of(const Block& block, int most, int rest) {
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
  const Block block = block_of(gpu, product, variant, ceiling, record);
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
  result.tflops = ceiling.tflops * result.busy[ceiling.bound_by];
  result.resident_blocks = resident;
  result.warps_per_scheduler =
      static_cast<double>(resident) * occupancy.warps_per_block / kSchedulers;
  result.issuing = (full.issue + full.stalls) / full.total();
  result.waiting_for_smem = full.smem / full.total();
  result.waiting_for_gmem = full.gmem / full.total();
  result.at_barriers = full.barriers / full.total();
  return result;
}

std::array<double, kUnits> busy_on_average(const Waiting& waiting, const Ceiling& ceiling) {
  std::array<double, kUnits> result = waiting.busy;
  for (const int unit : {kFma, kTensor, kIssue, kSmem, kL1}) result[unit] *= ceiling.busy_share;
  return result;
}

}  // namespace model
