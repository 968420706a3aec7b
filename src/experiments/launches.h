// The launches that each experiment makes.
#pragma once

#include <vector>

#include "experiments/experiment.h"

namespace experiments {

std::vector<Launch> coarsening(const Plan& plan);
std::vector<Launch> block_shape(const Plan& plan);
std::vector<Launch> swapped_grid(const Plan& plan);
std::vector<Launch> tile_sizes(const Plan& plan);
std::vector<Launch> padding(const Plan& plan);
std::vector<Launch> pipeline_stages(const Plan& plan);
std::vector<Launch> one_change(const Plan& plan);
std::vector<Launch> shapes(const Plan& plan);
std::vector<Launch> occupancy_walk(const Plan& plan);

}  // namespace experiments
