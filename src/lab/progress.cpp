#include "lab/progress.h"

#include <algorithm>
#include <utility>

#include "text/numbers.h"

namespace lab {

namespace {

constexpr auto kInterval = std::chrono::milliseconds(100);
constexpr int kBarWidth = 30;
constexpr const char* kEraseLine = "\r\033[K";  // ECMA-48, erase in line

}  // namespace

Progress::Progress(std::string name, std::int64_t total)
    : Progress(std::move(name), total, text::is_terminal(stderr) ? stderr : nullptr) {}

Progress::Progress(std::string name, std::int64_t total, std::FILE* out)
    : total_(total), out_(total > 0 ? out : nullptr), name_(std::move(name)) {}

Progress::~Progress() {
  if (!drawn_) return;
  std::fputs(kEraseLine, out_);
  std::fflush(out_);
}

void Progress::advance(std::int64_t amount) {
  done_ += amount;
  draw_if_due();
}

void Progress::reach(std::int64_t done) {
  done_ = done;
  draw_if_due();
}

void Progress::name(std::string name) {
  {
    const std::lock_guard lock(drawing_);
    name_ = std::move(name);
  }
  draw_if_due();
}

void Progress::draw_if_due() {
  if (!out_) return;
  // If another thread is drawing, this one continues its work.
  const std::unique_lock lock(drawing_, std::try_to_lock);
  const Clock::time_point now = Clock::now();
  if (!lock || now - last_drawn_ < kInterval) return;
  const double part = std::clamp(double(done_) / double(total_), 0.0, 1.0);
  const int filled = static_cast<int>(part * kBarWidth);
  const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
  const double elapsed_s = std::chrono::duration<double>(now - start_).count();
  std::fprintf(out_, "%s%s [%s] %3.0f %%", kEraseLine, name_.c_str(), bar.c_str(), 100 * part);
  if (part > 0) std::fprintf(out_, ", %.0f s left", elapsed_s * (1 - part) / part);
  std::fflush(out_);
  last_drawn_ = now;
  drawn_ = true;
}

}  // namespace lab
