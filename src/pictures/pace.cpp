#include "pictures/pace.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "lab/run.h"

namespace pictures {

namespace {

// A part of a block's span.
struct Step {
  bool copies;
  int tile;
};

std::vector<Step> steps_of(const BlockPlan& plan) {
  std::vector<Step> steps;
  const int tiles = static_cast<int>(plan.tiles.size());
  for (int span = 0; span < plan.spans; ++span) {
    for (int t = 0; t < tiles; ++t) {
      if (plan.tiles[t].copied == span) steps.push_back({true, t});
    }
    for (int t = 0; t < tiles; ++t) {
      if (plan.tiles[t].first_read == span) steps.push_back({false, t});
    }
  }
  return steps;
}

}  // namespace

Pace pace_of(const lab::Run& run, const lab::Row& row) {
  const auto ceiling = lab::compiled_ceiling(run, row);
  if (!ceiling || !row.occupancy || row.variant->BK == 0) {
    throw std::logic_error("no pace: the kernel has no ceiling");
  }
  const double most_blocks =  // of one SM; where blocks stay, tiles of C
      std::ceil(static_cast<double>(model::tiles_of(*row.variant, run.M, run.N)) / run.gpu.sms);
  const double tiles =
      static_cast<double>(model::padded_K(lab::product_of(run), *row.variant)) / row.variant->BK;
  const double cycles = run.gpu.boost_ghz * 1e6 / (most_blocks * tiles);  // of a tile, per ms
  return {
      ceiling->copy_ms * cycles, ceiling->multiply_ms * cycles,
      model::l2_bytes_per_clock(run.gpu) / run.gpu.sms, row.occupancy->blocks_per_sm,
      ceiling->tflops};
}

std::vector<Work> schedule(const BlockPlan& plan, const Pace& pace, int blocks) {
  const std::vector<Step> steps = steps_of(plan);
  const std::size_t tiles = plan.tiles.size();
  std::vector<Work> work;
  for (int block = 0; block < blocks; ++block) {
    for (std::size_t t = 0; t < tiles; ++t)
      work.push_back({block, static_cast<int>(t), 0, 0, 0, 0});
  }
  std::vector<std::size_t> next(blocks);  // of steps
  std::vector<double> ready(blocks);
  double copier_free = 0, multiplier_free = 0;
  const auto asks_at = [&](int block) {
    if (next[block] == steps.size()) return std::numeric_limits<double>::infinity();
    const Step& step = steps[next[block]];
    const double copied = step.copies ? 0 : work[block * tiles + step.tile].copy_end;
    return std::max(ready[block], copied);
  };
  for (std::size_t left = steps.size() * blocks; left > 0; --left) {
    int block = 0;
    for (int other = 1; other < blocks; ++other) {
      if (asks_at(other) < asks_at(block)) block = other;
    }
    const double asked = asks_at(block);
    const Step& step = steps[next[block]++];
    Work& one = work[block * tiles + step.tile];
    if (step.copies) {
      one.copy_begin = std::max(asked, copier_free);
      one.copy_end = copier_free = one.copy_begin + pace.copy;
      if (plan.copies_wait) ready[block] = one.copy_end;
    } else {
      one.multiply_begin = std::max(asked, multiplier_free);
      one.multiply_end = multiplier_free = ready[block] = one.multiply_begin + pace.multiply;
    }
  }
  return work;
}

double multiplying(const std::vector<Work>& work) {
  double first = std::numeric_limits<double>::infinity(), last = 0, busy = 0;
  for (const Work& one : work) {
    first = std::min(first, one.multiply_end);
    last = std::max(last, one.multiply_end);
    busy += one.multiply_end - one.multiply_begin;
  }
  const double once = work.empty() ? 0 : work[0].multiply_end - work[0].multiply_begin;
  return last > first ? (busy - once) / (last - first) : 0;
}

}  // namespace pictures
