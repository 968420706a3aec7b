// The limits for which a GPU would refuse a launch.
#pragma once

#include <string>

#include "machine/grid.h"
#include "model/gpus.h"
#include "model/refusal.h"

namespace machine {

inline constexpr int kMostThreadsInBlock = 1024;

// The GPU would refuse the launch, in one sentence, and with this cudaError_t.
struct LaunchRefusal : model::Refusal {
  LaunchRefusal(const std::string& sentence, int error_) : Refusal(sentence), error(error_) {}
  int error;
};

// Throws a LaunchRefusal.
void require_launchable(const model::Gpu& gpu, const Launch& launch);

}  // namespace machine
