// Why a request costs what it costs, in words.
#pragma once

#include <string>

#include "model/counts.h"
#include "model/warp_access.h"

namespace report {

// One instruction of one warp on one array. Addresses are relative to the array's start.
struct WarpRequest {
  const model::WarpAccess& access;
  bool shared;  // else global
  model::Direction direction;
  int row_words = 0;  // of the array; 0 if it is not known
  // Of a cp.async: its other side. Both sides together decide what it costs.
  const model::WarpAccess* other = nullptr;
};

// One sentence, from the request alone. It ends with its sectors and how many of their bytes are
// used, or with its wavefronts and their reason: "32 lanes want 4 bytes in each of 32 rows:
// 32 sectors, and 4 bytes of each are used."
std::string request_sentence(const WarpRequest& request);

}  // namespace report
