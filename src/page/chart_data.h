// What the page's roofline and staircase show, as JSON.
#pragma once

#include <string>
#include <vector>

#include "model/stage.h"
#include "pictures/recorded_gpus.h"

namespace page {

// {gpus}: for each recorded GPU its name and `sizes`, for each of these the stairs, cuBLAS, roofs,
// peaks, and the stages' dots. The operations per byte are traced here, with the tiles that the
// stage has on that GPU at that size.
std::string chart_data(
    const model::StageTable& traced,
    const std::vector<pictures::RecordedGpu>& recorded = pictures::recorded_gpus());

}  // namespace page
