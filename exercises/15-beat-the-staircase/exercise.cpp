#include "exercises/exercise.h"

#include "model/ceiling.h"
#include "model/extrapolate.h"
#include "model/gpus.h"
#include "model/occupancy.h"
#include "report/numbers.h"

namespace {

constexpr int kSize = 4096;      // M, N and K of the product that the score is about
constexpr int kRegisters = 128;  // of a thread: two blocks of 256 threads fit on an SM
constexpr double kToBeat = 32;   // TFLOP/s; stage 7, what fits into 128 registers, comes to 31.8

struct Score {
  Ceiling ceiling;
  int blocks_per_sm;
  bool overlaps;  // one multiplies while another copies, or copies while it multiplies
  double tflops() const {
    if (blocks_per_sm == 0) return 0;
    return overlaps ? ceiling.tflops : ceiling.no_overlap_tflops;
  }
};

// Of cases that differ in K alone.
Score score_of(std::span<const Case> cases) {
  const Case &near = cases[0], &far = cases[1];
  const Gpu& gpu = *find_gpu("RTX 3090");
  const LaunchShape& launch = *near.row.launch;
  const Counts counts = extrapolated(*near.row.counts, *far.row.counts,
                                     (kSize - near.shape.K) / (far.shape.K - near.shape.K));
  Variant variant{};
  variant.BM = near.shape.M / static_cast<int>(launch.grid.y);
  variant.BN = near.shape.N / static_cast<int>(launch.grid.x);
  variant.block_x = static_cast<int>(launch.block.x);
  variant.block_y = 1;
  const Occupancy fits = occupancy(
      gpu, {variant.threads(), kRegisters, static_cast<int>(near.measures.at("smem_bytes"))});
  return {*ceiling_as_written(gpu, {kSize, kSize, kSize, false}, variant, counts),
          fits.blocks_per_sm, fits.blocks_per_sm > 1 || near.measures.at("in_flight_bytes") > 0};
}

std::string told(const Score& score) {
  return printed("%.2f TFLOP/s at most on an RTX 3090 at %d^3; %.2f is to be beaten\n",
                 score.tflops(), kSize, kToBeat);
}

std::optional<Complaint> complaint_about(const Score& score) {
  if (score.tflops() > kToBeat) return std::nullopt;
  Complaint complaint{
      printed("the ceiling is %.2f TFLOP/s, and not above %.2f", score.tflops(), kToBeat), "", ""};
  const Ceiling& ceiling = score.ceiling;
  if (!score.overlaps) {
    complaint.phase =
        "only one block fits on an SM, and it copies nothing while it multiplies: use "
        "smaller blocks, or cp.async and two buffers";
  } else if (ceiling.bound_by == kSmem) {
    complaint.phase =
        "shared memory is what the rest waits for: more results a thread, float4, no "
        "bank conflicts";
  } else if (ceiling.bound_by == kIssue && ceiling.ms[kIssue] > 1.1 * ceiling.ms[kFma]) {
    complaint.phase =
        "instructions other than multiply-adds take the issue slots: more results a "
        "thread, and float4";
  } else if (ceiling.bound_by == kFma || ceiling.bound_by == kIssue) {
    complaint.phase =
        "the multipliers are busy, but not all of them to the end: in the last round "
        "some of the 82 SMs have no block left";
  } else {
    complaint.phase = "global memory is what the rest waits for: larger tiles, coalesced";
  }
  complaint.place = printed(
      "of the time of the busiest unit, %s, the SMs are at work for %.0f %%; "
      "blocks on an SM: %d; ms:",
      std::string(kUnitNames[ceiling.bound_by]).c_str(), 100 * ceiling.busy_share,
      score.blocks_per_sm);
  for (int unit = 0; unit < kUnits; ++unit) {
    complaint.place += printed(" %s %.2f", std::string(kUnitNames[unit]).c_str(), ceiling.ms[unit]);
  }
  return complaint;
}

}  // namespace

const Exercise exercise = {
    .title = "beat the staircase: C = A^T * B with the highest ceiling, 128 registers a thread",
    .product = {.A = Order::columns},
    .shapes =
        [](Random& random) {
          return std::vector<Shape>{{256, 256, 64}, {256, 256, 64 + 32 * random.between(1, 2)}};
        },
    .targets = {{"bytes of locals", "local_bytes", "512", false},
                {"shared bytes", "smem_bytes", "49152", false}},
    .hints = {{[](const Case& c) {
                 return c.right() && c.row.counts->hazards.empty() && !c.missed.empty() &&
                        std::string(c.missed.front()->name) == "bytes of locals";
               },
               "a thread has 128 registers of 4 bytes: give it fewer results"}},
    .check = [](const Submission& s) { return complaint_about(score_of(s.cases)); },
    .score = [](const Submission& s) { return told(score_of(s.cases)); },
};
