// The stop watch of the CUDA samples' helper_timer.h, for builds without the samples. It measures
// this computer, which runs the kernels, too.
#pragma once

#include <chrono>

namespace simt {
// Leaves a note that the time is not a GPU's.
void note_host_time();
}  // namespace simt

class StopWatchInterface {
 public:
  virtual ~StopWatchInterface() = default;
  virtual void start() {
    begin_ = Clock::now();
    running_ = true;
  }
  virtual void stop() {
    total_ms_ += since_start_ms();
    running_ = false;
    ++sessions_;
  }
  virtual void reset() {
    total_ms_ = 0;
    sessions_ = 0;
    begin_ = Clock::now();
  }
  virtual float getTime() {
    simt::note_host_time();
    return static_cast<float>(total_ms_ + since_start_ms());
  }
  virtual float getAverageTime() {
    simt::note_host_time();
    return sessions_ > 0 ? static_cast<float>(total_ms_ / sessions_) : 0;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double since_start_ms() const {
    if (!running_) return 0;
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }
  Clock::time_point begin_{};
  double total_ms_ = 0;
  int sessions_ = 0;
  bool running_ = false;
};
using StopWatchLinux = StopWatchInterface;

inline bool sdkCreateTimer(StopWatchInterface** timer) {
  *timer = new StopWatchInterface;
  return true;
}
inline bool sdkDeleteTimer(StopWatchInterface** timer) {
  delete *timer;
  *timer = nullptr;
  return true;
}
inline bool sdkStartTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->start();
  return true;
}
inline bool sdkStopTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->stop();
  return true;
}
inline bool sdkResetTimer(StopWatchInterface** timer) {
  if (*timer != nullptr) (*timer)->reset();
  return true;
}
inline float sdkGetTimerValue(StopWatchInterface** timer) {
  return *timer != nullptr ? (*timer)->getTime() : 0;
}
inline float sdkGetAverageTimerValue(StopWatchInterface** timer) {
  return *timer != nullptr ? (*timer)->getAverageTime() : 0;
}
