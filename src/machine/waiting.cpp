#include "machine/waiting.h"

#include "cuda/collectives.h"

namespace machine {

extern bool any_may_wait;

namespace {

const bool is_linked = any_may_wait = true;

}  // namespace
}  // namespace machine

#define HERE __builtin_return_address(0)
void simt::fence() {
  static_cast<void>(machine::is_linked);
  if (machine::running_worker == nullptr) return;
  if (machine::BlockObserver* observer = machine::running_worker->observer()) {
    observer->fence(HERE);
  }
}

void simt::let_others_run() {
  if (machine::running_worker != nullptr) machine::running_worker->pause(machine::State::kYields);
}

#define EXCHANGE(T)                                                              \
  T atomicExch(T* address, T value) {                                            \
    return machine::atomically(address, true, HERE, [value](T) { return value; }); \
  }
EXCHANGE(int)
EXCHANGE(unsigned)
EXCHANGE(unsigned long long)
EXCHANGE(float)
#undef EXCHANGE

#define COMPARE_AND_SWAP(T)                                                             \
  T atomicCAS(T* address, T expected, T value) {                                        \
    return machine::atomically(                                                         \
        address, true, HERE, [=](T old) { return old == expected ? value : old; });     \
  }
COMPARE_AND_SWAP(unsigned short)
COMPARE_AND_SWAP(int)
COMPARE_AND_SWAP(unsigned)
COMPARE_AND_SWAP(unsigned long long)
#undef COMPARE_AND_SWAP
#undef HERE
