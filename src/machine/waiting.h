// Threads that wait for each other by what they store: fences, counters, locks and flags.
#pragma once

#include <atomic>

#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"

namespace machine {

// Whether this program has any of them: what is defined in waiting.cpp is linked only where it is
// called.
bool blocks_may_wait();

// Blocks of one launch that wait for each other at a barrier of the whole grid.
struct GridBarrier {
  bool all_run = false;  // every block of the launch will, if one waits
  unsigned came = 0;     // threads that came to it for their blocks, over all barriers
};
extern GridBarrier grid_barrier;  // of the launch of the moment

// Replaces the value at `address` by `change` of it, and returns what it was. Blocks run side by
// side, so this is atomic among threads of the operating system, too.
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
