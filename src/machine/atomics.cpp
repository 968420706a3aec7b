#include "cuda/collectives.h"

#include <algorithm>
#include <bit>

#include "machine/fault.h"
#include "machine/waiting.h"

namespace machine {

bool any_may_wait = false;  // set by waiting.cpp, where that is linked

bool blocks_may_wait() {
  return any_may_wait;
}

}  // namespace machine

#define HERE __builtin_return_address(0)
unsigned __activemask() {
  return simt::warp_active(HERE);
}
void __trap() {
  machine::fault("the kernel calls __trap()", HERE);
}

void simt::give_up(const char* why) {
  machine::fault(why, HERE);
}
void simt::read_only_load(const void* pointer, std::size_t bytes) {
  if (machine::running_worker == nullptr) return;
  if (machine::BlockObserver* observer = machine::running_worker->observer()) {
    observer->read_only_load(pointer, bytes, HERE);
  }
}

#define ATOMIC(name, T, result)                                                    \
  T name(T* address, T value) {                                                    \
    return machine::atomically(address, false, HERE, [value](T old) -> T {         \
      static_cast<void>(old);                                                      \
      return result;                                                               \
    });                                                                            \
  }
ATOMIC(atomicAdd, unsigned, old + value)
ATOMIC(atomicAdd, unsigned long long, old + value)
ATOMIC(atomicAdd, float, old + value)
ATOMIC(atomicAdd, double, old + value)
ATOMIC(atomicSub, unsigned, old - value)
// They count from 0 to `value`, and around.
ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#define FOR_INTEGERS(name, result)        \
  ATOMIC(name, int, result)               \
  ATOMIC(name, unsigned, result)          \
  ATOMIC(name, unsigned long long, result)
FOR_INTEGERS(atomicMin, std::min(old, value))
FOR_INTEGERS(atomicMax, std::max(old, value))
FOR_INTEGERS(atomicAnd, old& value)
FOR_INTEGERS(atomicOr, old | value)
FOR_INTEGERS(atomicXor, old ^ value)
#undef FOR_INTEGERS
ATOMIC(atomicMin, long long, std::min(old, value))
ATOMIC(atomicMax, long long, std::max(old, value))
// Signed sums wrap around on the GPU.
ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
#undef ATOMIC
#undef HERE
