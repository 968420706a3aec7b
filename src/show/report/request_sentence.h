// Why a request costs what it costs, in words.
#pragma once

#include <string>

#include "show/pictures/block_requests.h"

namespace report {

using pictures::WarpRequest;

// One sentence, from the request alone. It ends with its sectors and how many of their bytes are
// used, or with its wavefronts and their reason: "32 lanes want 4 bytes in each of 32 rows:
// 32 sectors, and 4 bytes of each are used."
std::string request_sentence(const WarpRequest& request);

}  // namespace report
