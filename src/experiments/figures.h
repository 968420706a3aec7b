// What is worked out of one trial, before anybody prints or judges it.
#pragma once

#include <optional>
#include <span>

#include "experiments/experiment.h"

namespace experiments {

// TFLOP/s as measured or, without a time, the ceiling: as compiled where that is recorded, else as
// written. None where nothing is multiplied.
std::optional<double> speed(const Trial& trial);

// Of a launch: requests that load from shared memory, as the source says it, and as the compiler
// made it where that is recorded. The traced blocks stand for all.
std::optional<double> shared_loads_written(const Trial& trial);
std::optional<double> shared_loads_compiled(const Trial& trial);

// Where blocks come from, and what they do in vain.
struct Quantization {
  long long blocks;
  double wasted;  // share of the tiles' elements that lie outside of C
  double waves;   // 0 where the occupancy is not known
  double idle;    // share of the SMs' time without a block, were all blocks equally long
};
Quantization quantization(const Trial& trial);

// The blocks that the GPU holds at once, taken in the order in which they start.
struct FirstWave {
  long long block_rows, block_columns;  // of C, that they reach over
  double bytes;                         // of A and B, that they read
};
std::optional<FirstWave> first_wave(const Trial& trial);

bool is_timed(std::span<const Trial> trials);  // all were

}  // namespace experiments
