// How long the GPU has been working for this program without a long pause. A GPU that was idle
// begins with a low clock and a low temperature.
#pragma once

#include <limits>

namespace gpu {

// Times are in ms, on one clock.
class Busy {
 public:
  static constexpr double kPauseMs = 1000;

  // The GPU worked from `begin` to `end`. Calls come in the order of time.
  void add(double begin, double end) {
    sum_ms_ = before(begin) + (end - begin);
    last_end_ = end;
  }

  // The sum of the work before `now`, since the last pause of more than kPauseMs.
  double before(double now) const { return now - last_end_ > kPauseMs ? 0 : sum_ms_; }

 private:
  double sum_ms_ = 0, last_end_ = -std::numeric_limits<double>::infinity();
};

}  // namespace gpu
