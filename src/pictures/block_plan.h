// What a block does from barrier to barrier, as recorded: which tiles of A it copies to shared
// memory, and which it multiplies.
#pragma once

#include <vector>

#include "pictures/pictures.h"

namespace pictures {

// One tile along K.
struct Stay {
  int place;  // in shared memory, from 0
  int copied;
  int first_read, last_read;  // spans, as `copied`
};

struct BlockPlan {
  std::vector<Stay> tiles;  // by number
  int places;
  int spans;         // from barrier to barrier
  bool copies_wait;  // a thread waits for what it copies at once: no cp.async

  // The most tiles that are copied in advance, or in flight.
  int most_ahead() const;
};

// Of a stage that has tiles along K.
BlockPlan plan_of(const TracedStage& stage);

}  // namespace pictures
