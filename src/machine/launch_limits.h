// The limits for which a GPU would refuse a launch.
#pragma once

#include "machine/grid.h"
#include "model/gpus.h"

namespace machine {

inline constexpr int kMostThreadsInBlock = 1024;

// Throws a Refusal, in one sentence.
void require_launchable(const model::Gpu& gpu, const Launch& launch);

}  // namespace machine
