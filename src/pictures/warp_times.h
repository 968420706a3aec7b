// When each warp of one block does what, by the rates of the ceiling model.
#pragma once

#include <vector>

#include "pictures/pace.h"
#include "pictures/pictures.h"

namespace pictures {

// What a warp does between two barriers; times in cycles.
struct WarpSpan {
  int span, warp;
  double begin;
  double loaded;      // from global memory
  double stored;      // to shared memory, or to C
  double multiplied;  // then it waits at the barrier, ...
  double end;         // ... until all warps of the block are there
  bool reads_tiles;   // it multiplies
  bool stores_C;
};

// Of a stage whose copies wait. The block has its SM to itself: its warps take turns in L2 and in
// shared memory, in the order in which they come, and multiply at the same time. By span, then by
// warp.
std::vector<WarpSpan> warp_times(const TracedStage& stage, const Pace& pace);

// The same as a picture.
Picture draw_block_life(const TracedStage& stage, const Pace& pace);

}  // namespace pictures
