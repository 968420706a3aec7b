// A progress bar on a terminal, for work that takes seconds.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace lab {

// Draws on stderr if that is a terminal, and does nothing otherwise. The bar appears after a tenth
// of a second and is redrawn at most ten times per second. The destructor erases it.
class Progress {
 public:
  Progress(std::string name, std::int64_t total);
  // Draws on `out`, whatever that is; null: nowhere.
  Progress(std::string name, std::int64_t total, std::FILE* out);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reports that `amount` more of `total` is done. Any thread may call it.
  void advance(std::int64_t amount);
  // Reports that `done` of `total` is done.
  void reach(std::int64_t done);
  // The bar has that name from now on, and appears if it is time to draw.
  void name(std::string name);

 private:
  using Clock = std::chrono::steady_clock;

  void draw_if_due();

  const std::int64_t total_;
  std::FILE* const out_;  // null if nothing is to be drawn
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::int64_t> done_ = 0;
  std::mutex drawing_;  // guards the members below
  std::string name_;
  Clock::time_point last_drawn_ = start_;
  bool drawn_ = false;
};

}  // namespace lab
