#include "school/grade/exercise.h"

#include <algorithm>

#include "model/ceiling.h"
#include "model/gpus.h"
#include "text/numbers.h"

namespace {

constexpr int kSize = 4096;      // M, N and K of the product that the score is about
constexpr int kRegisters = 128;  // of a thread: two blocks of 256 threads fit on an SM

// TFLOP/s. Counted by this grader: stages 7, 8 and 9 on their own problem come to 31.76, 32.23 and
// 32.41 (the latter two with 16 x 8 results per thread, for which 128 registers are too few); stage
// 7 fitted to this problem to 31.93, and with its 64 x 64 tiles to 32.97; stage 9 fitted to it
// would come to 32.50. With 64 x 128 tiles, copied through registers, it is 33.09.
constexpr double kToBeat = 33.1;

// Traced, that is not optimized, 8 x 8 results with their operands come to 768 to 944 bytes, and
// 16 x 8, which 128 registers cannot hold, to 1,056.
constexpr const char* kMostLocals = "992";

struct Score {
  model::Ceiling ceiling;
  int blocks_per_sm;
  bool overlaps;  // one multiplies while another copies, or copies while it multiplies
  double tflops() const {
    if (blocks_per_sm == 0) return 0;
    return overlaps ? ceiling.tflops : ceiling.no_overlap_tflops;
  }
};

// Requests, and what they take, of one kind of traffic.
struct Share {
  std::int64_t requests = 0, pieces = 0, lines = 0;
};

// What the lines of a kernel do that is the same in a short product and in a long one: it does not
// belong to the steps of K.
Share constant_share(
    const model::Counts& near, const model::Counts& far, bool shared, model::Direction direction) {
  Share share;
  for (const model::LineCounts& line : near.lines) {
    // A copy loads from global memory and stores to shared memory.
    const bool copies = line.direction == model::Direction::copy &&
                        shared == (direction == model::Direction::store);
    if (line.shared != shared || (line.direction != direction && !copies)) continue;
    for (const model::LineCounts& same : far.lines) {
      if (same.places != line.places || same.array != line.array || same.shared != shared ||
          same.direction != line.direction || same.bytes != line.bytes ||
          same.requests != line.requests) {
        continue;
      }
      share.requests += line.requests;
      share.pieces += line.pieces;
      share.lines += line.lines;
    }
  }
  return share;
}

// The counts at kSize. A step of K costs what it costs more in the second case than in the first,
// but no less than its part of the longest case: work that shrinks as K grows would else look as if
// each step were cheaper than it is.
model::Counts at_full_size(std::span<const grade::Case> cases) {
  const grade::Case &near = cases[0], &far = cases[1], &longest = cases[2];
  model::Counts counts = model::extrapolated(
      *near.row.counts, *far.row.counts, (kSize - near.shape.K) / (far.shape.K - near.shape.K));
  const auto raise = [&](model::Traffic model::Counts::*which, bool shared,
                         model::Direction direction) {
    const model::Traffic& of_longest = *longest.row.counts.*which;
    const Share constant = constant_share(*near.row.counts, *longest.row.counts, shared, direction);
    const auto at_least = [&](std::int64_t& count, std::int64_t all, std::int64_t same) {
      count = std::max(count, same + (all - same) * kSize / longest.shape.K);
    };
    at_least((counts.*which).requests, of_longest.requests, constant.requests);
    at_least((counts.*which).pieces, of_longest.pieces, constant.pieces);
    at_least((counts.*which).lines, of_longest.lines, constant.lines);
  };
  using enum model::Direction;
  raise(&model::Counts::gmem_loads, false, load);
  raise(&model::Counts::gmem_stores, false, store);
  raise(&model::Counts::smem_loads, true, load);
  raise(&model::Counts::smem_stores, true, store);
  return counts;
}

// Of the three cases that differ in K alone.
Score score_of(std::span<const grade::Case> cases) {
  const grade::Case& near = cases[0];
  const model::Gpu& gpu = *model::find_gpu("RTX 3090");
  const lab::LaunchShape& launch = *near.row.launch;
  const model::Counts counts = at_full_size(cases);
  model::Variant variant{};
  variant.BM = near.shape.M / static_cast<int>(launch.grid.y);
  variant.BN = near.shape.N / static_cast<int>(launch.grid.x);
  variant.block_x = static_cast<int>(launch.block.x);
  variant.block_y = 1;
  const model::Occupancy fits = model::occupancy(
      gpu, {variant.threads(), kRegisters, static_cast<int>(near.measures.at("smem_bytes"))});
  return {
      *model::ceiling_as_written(gpu, {kSize, kSize, kSize, false}, variant, counts),
      fits.blocks_per_sm, fits.blocks_per_sm > 1 || near.measures.at("in_flight_bytes") > 0};
}

std::string told(const Score& score) {
  return text::printed(
      "the ceiling is %.2f TFLOP/s, on an RTX 3090 at %d^3; %.2f is to be beaten\n", score.tflops(),
      kSize, kToBeat);
}

std::optional<grade::Complaint> complaint_about(const Score& score) {
  if (score.tflops() > kToBeat) return std::nullopt;
  grade::Complaint complaint{
      text::printed("the ceiling is %.2f TFLOP/s; it must be above %.2f", score.tflops(), kToBeat),
      "", ""};
  const model::Ceiling& ceiling = score.ceiling;
  if (score.blocks_per_sm == 0) {
    complaint.phase = text::printed(
        "no block fits on an SM: with %d registers per thread, its 65,536 registers are enough for "
        "512 threads",
        kRegisters);
  } else if (!score.overlaps) {
    complaint.phase =
        "only one block fits on an SM, and nothing is copied while it multiplies: use smaller "
        "blocks, or cp.async and two buffers";
  } else if (ceiling.bound_by == model::kSmem) {
    complaint.phase =
        "shared memory is the bottleneck: use more results per thread and float4, and avoid bank "
        "conflicts";
  } else if (ceiling.bound_by != model::kFma && ceiling.bound_by != model::kIssue) {
    complaint.phase = "global memory is the bottleneck: use larger tiles, and coalesce";
  } else if (ceiling.busy_share < 0.98) {
    complaint.phase =
        "the multipliers are busy, but not all of them until the end: in the last round, some SMs "
        "have no block left";
  } else {
    complaint.phase =
        "instructions other than multiply-adds take issue slots: use fewer loads per multiply-add, "
        "and one copy instruction for four floats, not two";
  }
  complaint.place = text::printed(
      "busiest unit: %s; the SMs are at work for %.0f %% of its time; blocks per SM: %d; ms:",
      std::string(model::kUnitNames[ceiling.bound_by]).c_str(), 100 * ceiling.busy_share,
      score.blocks_per_sm);
  for (int unit = 0; unit < model::kUnits; ++unit) {
    complaint.place +=
        text::printed(" %s %.2f", std::string(model::kUnitNames[unit]).c_str(), ceiling.ms[unit]);
  }
  return complaint;
}

}  // namespace

extern const grade::Exercise grade::exercise = {
    .title = "beat the staircase: C = A^T * B with the highest ceiling, 128 registers per thread",
    .product = {.A = grade::Order::transposed},
    // The first three differ by a multiple of 32 along K: what an extrapolation to kSize needs. The
    // third is longer than those that it begins with, to see that it holds. The fourth has several
    // blocks in both directions whatever the tile, and the last is large along K.
    .shapes =
        [](grade::Random& random) {
          return std::vector<Shape>{
              {256, 256, 64},
              {256, 256, 64 + 32 * random.between(1, 2)},
              {256, 256, 32 * random.between(5, 6)},
              {512, 768, 32, 0, true},
              {256, 256, random.long_K(32), 0, true}};
        },
    .targets =
        {{"bytes of locals", "local_bytes", kMostLocals, false},
         {"shared bytes", "smem_bytes", "49152", false}},
    .hints =
        {{[](const grade::Case& c) {
            return c.right() && !model::has_hazard(*c.row.counts) && !c.missed.empty() &&
                   std::string(c.missed.front()->name) == "bytes of locals";
          },
          "a thread has only 128 registers of 4 bytes: give it fewer results"}},
    .check = [](const grade::Submission& s) { return complaint_about(score_of(s.cases)); },
    .score = [](const grade::Submission& s) { return told(score_of(s.cases)); },
};
