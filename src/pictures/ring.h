// What a block does whose warps divide the work, from what was recorded: one thread starts copies
// into a ring of tiles, warpgroups multiply, and in stage 14 three warps make low parts before.
#pragma once

#include <optional>
#include <vector>

#include "pictures/pace.h"
#include "pictures/pictures.h"

namespace pictures {

// What a warpgroup does with a tile along K; times in cycles.
struct Use {
  double asked;   // it waits for the tile from here on
  double begin;   // and loads its fragments from here
  double loaded;  // until here
  double multiply_begin, multiply_end;
  double released;  // it says that it does not need the tile any more
};

// What the warps do that make low parts of a tile of A (stage 14), from the first to the last.
struct Split {
  double asked, begin, end;  // they wait for the tile, and then store until `end`
};

// A tile's way through the ring.
struct RingTile {
  int place;              // in the ring, from 0
  unsigned phase;         // of the barrier that counts its bytes, from 0
  double asked, granted;  // the copying thread waits for the place; equal where it is free
  double copy_begin, copy_end;
  std::vector<Use> uses;            // by warpgroup
  std::optional<Split> split = {};  // if the stage makes low parts
};

struct Ring {
  int places;
  std::vector<RingTile> tiles;  // in the order in which they are copied
  double multiplying;  // the part of the time from the first multiplication on with one under way
};

// Of a stage with a ring of boxes. The order of what a thread does, what it waits for and how much
// it copies are as recorded. How long that takes is the pace's: the copy engine works on one box
// after the other, and the tensor cores on one multiplication after the other. The loads of
// fragments, and the loads and stores of low parts, take a cycle per wavefront. Throws
// std::logic_error if threads wait for each other.
Ring ring_of(const TracedStage& stage, const Pace& pace);

// The ring over time, and who works when.
Drawing draw_ring(const TracedStage& stage, const Pace& pace);

}  // namespace pictures
