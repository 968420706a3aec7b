// The blocks that one thread of the operating system has begun and not finished. There is only one,
// unless it waits for another block, which must then run alternately with it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "machine/observer.h"
#include "machine/worker.h"

namespace machine {

// The most blocks that may be in progress on one thread of the operating system, and the most if
// all blocks of the launch wait for each other.
inline constexpr unsigned kMostResidents = 129, kMostTogether = 2048;

struct Resident {
  Worker worker;
  std::unique_ptr<BlockObserver> observer;
  std::vector<char> shared;  // its shared memory, while another block runs
};

// What a thread that runs blocks asks of the queue that hands them out. Several threads may call
// these functions.
struct BlockSource {
  std::function<void(Resident&)> prepare;  // for this launch; may throw
  // `one_waits`: a block in progress on this thread waits for another one.
  std::function<std::optional<std::int64_t>(bool one_waits)> next;
  std::function<bool()> is_over;  // waiting blocks are dropped
  std::function<void()> ended;
  std::function<void(const Abandoned&)> abandoned;
  std::function<void(std::int64_t)> failed;            // call this in a catch clause
  std::function<void(const BlockObserver&)> observed;  // all blocks of that thread have run
};

// Runs blocks on this thread, which has the number `number`, until none is left.
class Residents {
 public:
  Residents(const BlockSource& source, int number) : source_(source), number_(number) {}
  void run();

 private:
  Resident* take();
  bool begin_next();
  bool go_on(Resident& resident);
  void bring_in(Resident& resident);

  const BlockSource& source_;
  const int number_;
  std::deque<Resident*> waiting_;
  std::vector<Resident*> free_, prepared_;
  Resident* in_shared_memory_ = nullptr;
};

}  // namespace machine
