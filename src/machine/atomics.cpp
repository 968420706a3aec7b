#include "cuda/collectives.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "machine/fault.h"
#include "machine/observer.h"
#include "machine/own_access.h"
#include "machine/worker.h"

namespace {

// Replaces the value at `address` by `change` of it, and returns what it was. Blocks run side by
// side, so this is atomic among threads of the operating system, too.
template <class T, class Change>
T atomically(T* address, void* place, Change change) {
  if (machine::running_worker != nullptr) {
    if (machine::BlockObserver* observer = machine::running_worker->observer()) {
      observer->atomic(address, sizeof(T), place);
    }
  }
  const machine::OwnAccess own;
  std::atomic_ref<T> value(*address);
  T old = value.load();
  while (!value.compare_exchange_weak(old, change(old))) {
  }
  return old;
}

}  // namespace

#define HERE __builtin_return_address(0)
unsigned __activemask() {
  return simt::warp_active(HERE);
}
void __trap() {
  machine::fault("the kernel calls __trap()", HERE);
}

#define ATOMIC(name, T, result)                            \
  T name(T* address, T value) {                            \
    return atomically(address, HERE, [value](T old) -> T { \
      static_cast<void>(old);                              \
      return result;                                       \
    });                                                    \
  }
ATOMIC(atomicAdd, unsigned, old + value)
ATOMIC(atomicAdd, unsigned long long, old + value)
ATOMIC(atomicAdd, float, old + value)
ATOMIC(atomicAdd, double, old + value)
ATOMIC(atomicSub, unsigned, old - value)
ATOMIC(atomicExch, int, value)
ATOMIC(atomicExch, unsigned, value)
ATOMIC(atomicExch, float, value)
ATOMIC(atomicMin, int, std::min(old, value))
ATOMIC(atomicMin, unsigned, std::min(old, value))
ATOMIC(atomicMax, int, std::max(old, value))
ATOMIC(atomicMax, unsigned, std::max(old, value))
ATOMIC(atomicAnd, int, old& value)
ATOMIC(atomicAnd, unsigned, old& value)
ATOMIC(atomicOr, int, old | value)
ATOMIC(atomicOr, unsigned, old | value)
// Signed sums wrap around on the GPU.
ATOMIC(atomicAdd, int, static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(value)))
ATOMIC(atomicSub, int, static_cast<int>(static_cast<unsigned>(old) - static_cast<unsigned>(value)))
#undef ATOMIC

#define COMPARE_AND_SWAP(T)                                                                 \
  T atomicCAS(T* address, T expected, T value) {                                            \
    return atomically(address, HERE, [=](T old) { return old == expected ? value : old; }); \
  }
COMPARE_AND_SWAP(int)
COMPARE_AND_SWAP(unsigned)
COMPARE_AND_SWAP(unsigned long long)
#undef COMPARE_AND_SWAP
#undef HERE
