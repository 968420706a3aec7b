// What the page's roofline and staircase show, as JSON.
#pragma once

#include <string>

#include "model/stage.h"

namespace page {

// {gpu, sizes}: for each recorded size the stairs, cuBLAS, roofs, peaks, and the stages' dots. The
// speeds are recorded on an H200. The operations per byte are traced here, with the tiles that the
// stage had at that size.
std::string chart_data(const model::StageTable& traced);

}  // namespace page
