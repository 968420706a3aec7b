#include "machine/runners.h"

#include <array>
#include <atomic>
#include <cstdio>

#include "machine/worker.h"

namespace machine {
namespace {

struct Runner {
  std::atomic<std::int64_t> block{-1};
  pthread_t thread{};
};
std::array<Runner, 1024> runners;  // by OpenMP's thread number, as far as there is room
char name_of_kernel[256];
std::atomic<void (*)()> called_at_end_of_turn = nullptr;

}  // namespace

bool in_kernel() {
  return running_worker != nullptr;
}

const char* kernel_name() {
  return name_of_kernel;
}

std::optional<pthread_t> runner_of_first_block() {
  const Runner* first = nullptr;
  for (const Runner& runner : runners) {
    if (runner.block >= 0 && (first == nullptr || runner.block < first->block)) first = &runner;
  }
  if (first == nullptr) return std::nullopt;
  return first->thread;
}

void call_at_end_of_turn(void (*what)()) {
  called_at_end_of_turn = what;
}

void at_end_of_turn() {
  const auto what = called_at_end_of_turn.load(std::memory_order_relaxed);
  if (what == nullptr) return;
  const std::optional<pthread_t> first = runner_of_first_block();
  if (first && pthread_equal(*first, pthread_self())) what();
}

void name_kernel(const std::string& name) {
  std::snprintf(name_of_kernel, sizeof name_of_kernel, "%s", name.c_str());
}

void runs_block(int number, std::int64_t block) {
  Runner& runner = runners[number % runners.size()];
  if (block >= 0) runner.thread = pthread_self();
  runner.block = block;
}

}  // namespace machine
