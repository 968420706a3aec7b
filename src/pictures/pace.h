// How long the parts of a block's work take by the ceiling model (model/ceiling.h), which knows
// what the units can do and no waiting.
#pragma once

#include <vector>

#include "lab/run.h"
#include "pictures/block_plan.h"

namespace pictures {

// Cycles of an SM, while all SMs do the same.
struct Pace {
  double copy;            // of one tile
  double multiply;        // of one tile
  double l2_bytes;        // an SM's share of what L2 gives per cycle
  int blocks_per_sm;      // as many as fit
  double ceiling_tflops;  // of the whole product
};

// Of row's kernel in run's product. Throws std::logic_error where there is no ceiling.
Pace pace_of(const lab::Run& run, const lab::Row& row);

// A stage with what one of its blocks does, and how fast.
struct PacedStage {
  const model::Stage* stage;
  BlockPlan plan;
  Pace pace;
};

// When a block works on a tile.
struct Work {
  int block, tile;
  double copy_begin, copy_end, multiply_begin, multiply_end;  // cycles
};

// So many blocks on one SM, each by `plan`. The SM copies for one of them at a time and multiplies
// for one at a time, in the order in which they ask. By block, then by tile.
std::vector<Work> schedule(const BlockPlan& plan, const Pace& pace, int blocks);

// The part of the time in which the SM multiplies, from its first tile's end to its last one's.
double multiplying(const std::vector<Work>& work);

// A tile's way through a stage that copies and multiplies in turn, and through one that copies
// ahead; to scale, with one block on an SM and with as many as fit.
Drawing draw_pipeline(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured);

}  // namespace pictures
