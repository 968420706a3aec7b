// The schedule of a product whose matrices stay in the host's memory and pass through the devices.
//
// Each device computes its part of C. B's columns stay on it while the rows of A and C pass: per
// block of rows, each panel of A is multiplied with its rows of B, which arrive with the first
// block. If the columns do not fit, the part is computed in several passes over fewer columns, and
// A passes in each of them.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/schedule.h"

namespace cluster {

// A block of C's rows, in a pass's columns, and a panel of K: what is multiplied at a time.
struct StreamStep {
  Part columns, rows, k;
  int block;         // counted over all passes
  bool B_arrives;    // in a pass's first block
  bool first, last;  // panel of the block: C may arrive before, and leaves after it
};

// The steps of each device.
struct Streams {
  Shape shape;
  Grid grid;
  bool reads_C;     // beta is not 0
  int rows, panel;  // the most of a block
  int columns;      // the most of a pass
  std::vector<std::vector<StreamStep>> steps;
};

// For devices with this much memory, in bytes. Throws a Refusal if it is too little for even the
// narrowest pass, or if there would be too many steps to list.
Streams streams(Shape shape, Grid grid, int panel, bool reads_C, double memory);

// What a device copies from and to the host and holds at most. Messages are copies.
Load predicted_load(const Streams& streams, int device);

}  // namespace cluster
