// The bytes in flight to shared memory while a block multiplies, and how often it waits for all.
#pragma once

#include <string>

#include "lab/run.h"
#include "model/counts.h"

namespace report {

// Barriers of a block, and of those of them that stand for one tile of K; 0 where K has no tiles.
struct Barriers {
  double a_block;
  double a_tile;
};
Barriers barriers(const lab::Run& run, const lab::Row& row);

// Bytes that cp.async copies for a block and that it has not waited for, whenever a warp comes to
// that line: on average, and at most.
struct InFlight {
  double mean_bytes;
  double most_bytes;
};
InFlight in_flight(const lab::Row& row, const model::LineCounts& line);

// Both in words, for --explain; of a row that was traced.
std::string explain_in_flight(const lab::Run& run, const lab::Row& row);

}  // namespace report
