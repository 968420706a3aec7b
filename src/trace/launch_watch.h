// What all who trace the blocks of a launch have to know of each other to find hazards.
#pragma once

#include <atomic>
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
  // A block counts in global memory, or lets others wait: what a launch does then may depend on the
  // order of its blocks.
  std::atomic<bool> counts = false;
  bool depends_on_order() const { return counts || order.is_used(); }
};

}  // namespace trace
