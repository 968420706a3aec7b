#include "pictures/warp_steps.h"

#include <algorithm>
#include <map>

namespace pictures {

StepPlan step_plan(const TracedStage& stage) {
  StepPlan plan{{}, 0};
  std::map<int, StepLoad> steps;  // by k
  std::map<int, int> loaded;      // steps in an epoch, before its copies
  std::map<int, bool> copied;     // whether they have begun
  for (const Moved& moved : elements_moved(stage.block)) {
    const Request& request = stage.block.requests[moved.request];
    if (moved.thread != stage.block.warp.thread_of(0, 0)) continue;
    if (request.direction == model::Direction::copy) {
      copied[request.epoch] = true;
      if (request.epoch > 0) plan.ahead = std::max(plan.ahead, loaded[request.epoch]);
    }
    if (!request.shared || request.direction != model::Direction::load) continue;
    const Element& e = moved.elements[0];
    const int k = e.matrix == 'A' ? e.col : e.row;
    const auto [step, first] = steps.try_emplace(k, StepLoad{k, request.epoch, 0, 0});
    ++step->second.loads;
    step->second.wavefronts += request.pieces;
    if (first && !copied[request.epoch]) ++loaded[request.epoch];
  }
  for (const auto& [k, step] : steps) plan.steps.push_back(step);
  return plan;
}

std::vector<StepTime> step_times(const StepPlan& plan, double load_cycles, double multiply_cycles) {
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<StepTime> times(steps);
  double now = 0;
  int next = 0;  // to load
  for (int step = 0; step < steps; ++step) {
    for (; next <= std::min(step + plan.ahead, steps - 1); ++next) {
      times[next].load_begin = now;
      times[next].load_end = now + load_cycles + plan.steps[next].wavefronts - 1;
    }
    times[step].multiply_begin = std::max(now, times[step].load_end);
    times[step].multiply_end = now = times[step].multiply_begin + multiply_cycles;
  }
  return times;
}

}  // namespace pictures
