// What all who trace the blocks of a launch have to know of each other to find hazards.
#pragma once

#include <span>

#include "trace/block_order.h"
#include "trace/launch_touches.h"
#include "trace/result_writers.h"

namespace trace {

struct LaunchWatch {
  explicit LaunchWatch(std::span<const machine::GlobalArray> matrices) : writers(matrices) {}

  ResultWriters writers;
  BlockOrder order;
  LaunchTouches touches;
};

}  // namespace trace
