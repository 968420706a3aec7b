// Which SM computes which block of a launch, and when.
#pragma once

#include <vector>

#include "model/stage.h"

namespace pictures {

// One block on its SM. Times are in K tiles.
struct SmTime {
  int sm;
  int tile;   // of C
  int parts;  // of that tile; 1: it is computed whole
  int part;
  int begin, end;
};

// Each SM holds one block at a time, and the next block goes to the SM that is free first. By
// block. To start a block and to add up the parts takes no time here.
std::vector<SmTime> sm_times(const model::ShareOut& shares, int tiles, int k_tiles, int sms);

// When the last block ends.
int end_of(const std::vector<SmTime>& times);

// How many SMs compute something at that moment.
int busy_sms(const std::vector<SmTime>& times, int when);

}  // namespace pictures
