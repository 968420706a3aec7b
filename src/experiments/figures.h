// Values computed from one trial, before they are printed or judged.
#pragma once

#include <optional>
#include <span>

#include "experiments/experiment.h"

namespace experiments {

// The measured TFLOP/s or, without a time, the ceiling: as compiled if there is a record, else as
// written. Nothing if nothing is multiplied.
std::optional<double> speed(const Trial& trial);

// For the launch: SMEM load requests as written in the source, and as compiled if there is a
// record. They are extrapolated from the traced blocks.
std::optional<double> shared_loads_written(const Trial& trial);
std::optional<double> shared_loads_compiled(const Trial& trial);

// How the blocks fill the GPU, and how much of their work is wasted.
struct Quantization {
  long long blocks;
  double wasted;  // share of the tiles' elements that are outside C
  double waves;   // 0 if the occupancy is unknown
  double idle;    // share of the SMs' time without a block, if all blocks took equally long
};
Quantization quantization(const Trial& trial);

// The blocks that the GPU holds at once, in the order in which they start.
struct FirstWave {
  long long block_rows, block_columns;  // the part of C that they span
  double bytes;                         // the parts of A and B that they read
};
std::optional<FirstWave> first_wave(const Trial& trial);

bool is_timed(std::span<const Trial> trials);  // all trials were timed

}  // namespace experiments
