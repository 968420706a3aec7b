// Threads that wait for each other through memory. A program is linked with this file only if it
// calls one of these functions, and then its blocks run in another order.
#include <algorithm>
#include <string>

#include "simulator/cuda/collectives.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/position.h"
#include "simulator/machine/worker.h"

namespace machine {
namespace {

const bool is_linked = blocks_may_wait = true;

}  // namespace
}  // namespace machine

#define HERE __builtin_return_address(0)
void simt::fence(bool wide) {
  static_cast<void>(machine::is_linked);
  if (machine::running_worker == nullptr) return;
  const void* const place = machine::place_of_call(HERE);
  machine::tell({.kind = machine::Action::Kind::fence, .value = wide}, place);
}

void simt::grid_barrier() {
  using machine::grid_barrier, machine::gridDim, machine::threadIdx;
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  if (!grid_barrier.all_run) {
    machine::fault("it calls grid.sync(), which requires that all blocks run together", HERE);
  }
  if (blocks > machine::kMostTogether) {
    machine::fault(
        "it calls grid.sync() in a launch of " + std::to_string(blocks) + " blocks; at most " +
            std::to_string(machine::kMostTogether) + " can wait here",
        HERE);
  }
  block_barrier();
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const std::atomic_ref came(grid_barrier.came);
    const unsigned number = came.load() / blocks;
    unsigned* const word = &grid_barrier.words[number % grid_barrier.words.size()];
    const auto add = [&](unsigned more) {
      machine::atomically(
          word, machine::AtomicUse::kCounter, HERE, [more](unsigned old) { return old + more; });
    };
    fence(true);
    add(1);
    ++came;
    while (came.load() < (number + 1) * blocks) {
      machine::running_worker->wait_for_grid(number, HERE);
      machine::will_read_atomically(word);
    }
    add(0);
  }
  block_barrier();
}

void simt::let_others_run() {
  if (machine::running_worker != nullptr) machine::running_worker->pause(machine::State::kYields);
}

#define ATOMIC(name, T, result)                                                               \
  T name(T* address, T value) {                                                               \
    return machine::atomically(                                                               \
        address, machine::AtomicUse::kCounter, HERE, [value](T old) -> T { return result; }); \
  }
SIMT_ATOMICS(ATOMIC)

#define EXCHANGE(name, T, result)                                                     \
  T name(T* address, T value) {                                                       \
    return machine::atomically(                                                       \
        address, machine::AtomicUse::kExchange, HERE, [value](T) { return result; }); \
  }
SIMT_OF_INTEGERS(EXCHANGE, atomicExch, value)
EXCHANGE(atomicExch, float, value)

#define COMPARE_AND_SWAP(T)                                                                    \
  T atomicCAS(T* address, T expected, T value) {                                               \
    const T found = machine::atomically(address, machine::AtomicUse::kLock, HERE, [=](T old) { \
      return old == expected ? value : old;                                                    \
    });                                                                                        \
    if (found == expected) machine::tell_swapped(address, sizeof(T));                          \
    return found;                                                                              \
  }
COMPARE_AND_SWAP(unsigned short)
COMPARE_AND_SWAP(int)
COMPARE_AND_SWAP(unsigned)
COMPARE_AND_SWAP(unsigned long long)
#undef HERE
