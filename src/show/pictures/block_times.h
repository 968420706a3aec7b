// When a block copies, loads and multiplies: as recorded from barrier to barrier. How long each
// takes follows from the ceiling model (model/ceiling.h), which has the units' rates but no
// waiting.
#pragma once

#include <optional>
#include <vector>

#include "lab/run.h"
#include "show/pictures/pictures.h"

namespace pictures {

// One tile along K.
struct Stay {
  int place;               // in shared memory, from 0
  int copied, first_read;  // spans
};

// What a block does from barrier to barrier, as recorded: which tiles of A it copies to shared
// memory, and which it multiplies. Where one thread has boxes copied to a ring of places, a span
// ends with the wait of those that multiply for a tile.
struct BlockPlan {
  std::vector<Stay> tiles;  // by number
  int places;
  int spans;         // from barrier to barrier
  bool copies_wait;  // a thread waits for its copies immediately: no cp.async
};

// Whether boxes come to a ring, and barriers say when.
bool has_ring(const TracedStage& stage);

// For a stage that has tiles along K.
BlockPlan plan_of(const TracedStage& stage);

// Cycles of an SM, while all SMs do the same.
struct Pace {
  double copy;            // of one tile
  double multiply;        // of one tile
  int blocks_per_sm;      // as many as fit
  double ceiling_tflops;  // of the whole product
};

// For the row's kernel in the run's product; none if its compiled form is not recorded.
std::optional<Pace> pace_of(const lab::Run& run, const lab::Row& row);

// A stage with what one of its blocks does, and how fast.
struct PacedStage {
  int number;
  BlockPlan plan;
  Pace pace;
};

// When a block works on a tile.
struct TileWork {
  int block, tile;
  double copy_begin, copy_end, multiply_begin, multiply_end;  // cycles
};

// This many blocks on one SM, each by `plan`. The SM copies for one of them at a time and
// multiplies for one at a time, in the order of their requests. By block, then by tile.
std::vector<TileWork> schedule(const BlockPlan& plan, const Pace& pace, int blocks);

// The part of the time in which the SM multiplies, from its first tile's end to its last one's.
double multiplying(const std::vector<TileWork>& work);

// A tile's way through a stage that copies and multiplies in turn, and through one that copies
// ahead; to scale, with one block on an SM and with as many as fit.
Drawing draw_pipeline(
    const PacedStage& before, const PacedStage& after, const RecordedLadder& measured);

// The places of such a ring over time.
Drawing draw_ring(const PacedStage& stage);

}  // namespace pictures
