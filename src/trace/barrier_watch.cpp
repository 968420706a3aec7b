#include "trace/barrier_watch.h"

#include <algorithm>
#include <utility>

#include "model/warp_access.h"

namespace trace {

void BarrierWatch::begin_block(std::int64_t block, int threads) {
  block_ = block;
  count_ = 0;
  left_.assign(threads, std::nullopt);
  said_several_ = said_left_ = false;
}

std::vector<model::Hazard> BarrierWatch::barrier(
    std::span<const bool> left, const WarpLog& log, const CallPaths& paths) {
  const std::vector<Token>& at = log.paths();
  const auto hazard = [&](model::HazardKind kind, std::size_t waits, std::size_t other) {
    model::Hazard made{kind, "", 0, block_, {}, {}};
    made.first = {static_cast<std::int64_t>(waits), 0, false, paths.places_of_call(at[waits])};
    made.second = {
        static_cast<std::int64_t>(other), 0, left[other],
        left[other] ? log.last_places(static_cast<int>(other)) : paths.places_of_call(at[other])};
    return made;
  };
  const auto first_waiting = [&](std::size_t from, std::size_t end) {
    return static_cast<std::size_t>(
        std::find(left.begin() + from, left.begin() + end, false) - left.begin());
  };

  std::vector<model::Hazard> found;
  const std::size_t waits = first_waiting(0, left.size());
  std::optional<std::size_t> elsewhere, gone, gone_between;
  for (std::size_t warp = 0; warp < left.size(); warp += geometry_.lanes) {
    const std::size_t end = std::min<std::size_t>(left.size(), warp + geometry_.lanes);
    const std::size_t lane = first_waiting(warp, end);
    for (std::size_t t = warp; t < end; ++t) {
      if (left[t]) {
        if (!left_[t]) left_[t] = count_;
        if (!gone) gone = t;
        if (!gone_between && *left_[t] > 0) gone_between = t;
      } else if (at[t] != at[lane]) {
        return {hazard(model::HazardKind::barrier_divergence, lane, t)};
      } else if (at[t] != at[waits] && !elsewhere) {
        elsewhere = t;
      }
    }
  }
  ++count_;
  // Warps that meet at different barriers must reach the same number of them.
  if ((said_several_ || elsewhere) && gone_between) {
    return {hazard(model::HazardKind::barrier_divergence, waits, *gone_between)};
  }
  if (elsewhere && !std::exchange(said_several_, true)) {
    found.push_back(hazard(model::HazardKind::several_barriers, waits, *elsewhere));
  }
  if (gone && !std::exchange(said_left_, true)) {
    found.push_back(hazard(model::HazardKind::threads_left, waits, *gone));
  }
  return found;
}

}  // namespace trace
