// What a GPU would refuse of a launch.
#pragma once

#include "machine/grid.h"
#include "model/gpus.h"

namespace machine {

inline constexpr int kMostThreadsInBlock = 1024;

// Throws Refusal, in one sentence.
void require_launchable(const model::Gpu& gpu, const Launch& launch);

}  // namespace machine
