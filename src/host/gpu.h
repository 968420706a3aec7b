// The GPU that the program sees: the one whose limits its launches must keep.
#pragma once

#include "model/gpus.h"

namespace host {

const model::Gpu& gpu();

// Shared memory of a block for which a kernel need not ask, on every GPU of the table.
inline constexpr int kSharedBytesPerBlock = 48 * 1024;
inline constexpr int kThreadsPerBlock = 1024;

}  // namespace host
