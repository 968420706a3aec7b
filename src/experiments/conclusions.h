// What an experiment shows, in one sentence computed from its trials. Each function takes at least
// two trials, in the order of the experiment's launches, each with a speed.
#pragma once

#include <span>
#include <string>

#include "experiments/experiment.h"

namespace experiments {

std::string coarsening_shows(std::span<const Trial> trials);
std::string block_shape_shows(std::span<const Trial> trials);
std::string swapped_grid_shows(std::span<const Trial> trials);
std::string tile_sizes_shows(std::span<const Trial> trials);
std::string padding_shows(std::span<const Trial> trials);
std::string stages_shows(std::span<const Trial> trials);
std::string one_change_shows(std::span<const Trial> trials);
std::string shapes_shows(std::span<const Trial> trials);
std::string occupancy_shows(std::span<const Trial> trials);

}  // namespace experiments
