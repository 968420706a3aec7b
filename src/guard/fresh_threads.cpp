#include "guard/fresh_threads.h"

#include <omp.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "guard/child.h"
#include "guard/guard.h"
#include "guard/signals.h"

namespace guard {
namespace {

struct Fresh {
  std::binary_semaphore made{0}, turn{0};
  const std::function<void()>* code = nullptr;
  std::exception_ptr thrown;
  std::thread thread;

  void run() {
    try {
      (*code)();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

// Never destroyed: a child ends while its unused fresh threads still wait.
std::deque<std::unique_ptr<Fresh>>& waiting() {
  static auto& threads = *new std::deque<std::unique_ptr<Fresh>>;
  return threads;
}

}  // namespace

int team_size() {
  constexpr int kMost = 16;  // each fresh thread has the same number
  return std::min(omp_get_max_threads(), kMost);
}

void make_team(int size) {
  omp_set_dynamic(0);
  omp_set_num_threads(size);
  give_signal_stacks();
}

void make_fresh_threads(std::size_t count) {
  const std::size_t before = waiting().size();
  const int team = team_size();
  for (std::size_t i = 0; i < count; ++i) {
    Fresh& fresh = *waiting().emplace_back(std::make_unique<Fresh>());
    fresh.thread = std::thread([&fresh, team] {
      make_team(team);
      fresh.made.release();
      fresh.turn.acquire();
      fresh.run();
    });
  }
  for (std::size_t i = before; i < waiting().size(); ++i) waiting()[i]->made.acquire();
}

void on_fresh_thread(const std::function<void()>& code) {
  if (waiting().empty()) {
    if (this_child.locked) throw std::logic_error("no fresh thread is left");
    make_fresh_threads(1);
  }
  const std::unique_ptr<Fresh> fresh = std::move(waiting().front());
  waiting().pop_front();
  fresh->code = &code;
  fresh->turn.release();
  fresh->thread.join();
  if (fresh->thrown) std::rethrow_exception(fresh->thrown);
}

}  // namespace guard
