// A progress bar for work that takes seconds, for whoever waits at a terminal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace lab {

// Draws on `out` where that is a terminal, and does nothing otherwise. The bar appears after a
// tenth of a second, is redrawn at most ten times a second, and is gone when the object is.
class Progress {
 public:
  Progress(std::string name, std::int64_t total, std::FILE* out = stderr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `amount` more of `total` is done. Any thread may call it.
  void advance(std::int64_t amount);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(Clock::time_point now);

  const std::string name_;
  const std::int64_t total_;
  std::FILE* const out_;  // null where nothing is to be drawn
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::int64_t> done_ = 0;
  std::mutex drawing_;  // guards what follows
  Clock::time_point last_drawn_ = start_;
  bool drawn_ = false;
};

}  // namespace lab
