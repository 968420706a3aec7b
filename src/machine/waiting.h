// Threads that wait for each other through memory: fences, counters, locks and flags.
#pragma once

#include <array>
#include <atomic>

#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"

namespace machine {

// Whether this program uses any of them: waiting.cpp is linked only if its functions are called.
bool blocks_may_wait();

// The blocks of one launch that wait for each other at a barrier of the whole grid.
struct GridBarrier {
  bool all_run = false;  // if one block waits, every block of the launch must
  unsigned came = 0;     // blocks that arrived, over all barriers
  // The blocks of one barrier meet at a word of its own, so that the observer of one that comes
  // late does not take the next barrier's arrivals for this one's.
  std::array<unsigned, 64> words{};
};
extern GridBarrier grid_barrier;  // of the current launch
inline bool waits_for_all() {
  return std::atomic_ref(grid_barrier.came).load() > 0;
}

// Replaces the value at `address` by `change` of it, and returns the old value. Blocks run in
// parallel, so this is atomic among threads of the operating system, too.
template <class T, class Change>
T atomically(T* address, AtomicUse use, void* place, Change change) {
  if (running_worker != nullptr) {
    if (BlockObserver* observer = running_worker->observer()) {
      observer->atomic(address, sizeof(T), use, place);
    }
    running_worker->read_atomically(address);
  }
  const OwnAccess own;
  std::atomic_ref<T> value(*address);
  T old = value.load();
  while (!value.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

}  // namespace machine
