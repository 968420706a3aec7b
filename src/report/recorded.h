// The speed that was recorded in results/ for what a run only traces.
#pragma once

#include <optional>

#include "lab/run.h"

namespace report {

// In TFLOP/s, of the row's stage on the run's GPU at this size, with the tiles that suit both.
// Nothing where that was not recorded.
std::optional<double> recorded_tflops(const lab::Run& run, const lab::Row& row);

// Whether there is one for any row.
bool is_recorded(const lab::Run& run);

}  // namespace report
