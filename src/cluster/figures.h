// The walkthrough's pictures of several GPUs.
#pragma once

#include <vector>

#include "pictures/svg.h"

namespace cluster {

// Who owns what, and the recorded timeline of two H200 below the model's.
std::vector<pictures::Picture> draw_pictures();

}  // namespace cluster
