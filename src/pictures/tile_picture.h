// Who computes what: the matrix, a block's tile of it, a warp's tile of that, a thread's results.
#pragma once

#include <string>
#include <vector>

#include "model/stage.h"

namespace pictures {

// At most 9 lines of at most 100 columns that draw C (M x N) cut into block tiles, and then what
// `variant` cuts these into; a tile that is cut further is the one filled in. Of more parts than
// there is room for the first are drawn. The sizes are the variant's; which elements of its tile a
// lane takes is the kernel's business, and drawn as one piece.
std::vector<std::string> tile_picture(const model::Variant& variant, int M, int N);

}  // namespace pictures
