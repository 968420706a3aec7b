// What the tracers of the blocks of a launch share in order to find hazards.
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
  // A block counts in global memory or lets others run. From then on the launch may depend on the
  // order of its blocks.
  std::atomic<bool> counts = false;
  bool depends_on_order() const { return counts || order.is_used(); }
};

}  // namespace trace
