// What a run is about, as it stands above every table.
#pragma once

#include <string>

#include "lab/run.h"

namespace report {

// Problem, tiles that were chosen for a small C, GPU, driver and command, a line each: what a
// recorded table has to tell.
std::string about(const lab::Run& run);

}  // namespace report
