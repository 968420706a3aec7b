#include "cuda/collectives.h"

#include "machine/fault.h"
#include "machine/waiting.h"

namespace machine {

GridBarrier grid_barrier;
bool any_may_wait = false;  // set by waiting.cpp if that is linked

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

void simt::read_only_load(const void* pointer, std::size_t bytes) {
  if (machine::running_worker == nullptr) return;
  if (machine::BlockObserver* observer = machine::running_worker->observer()) {
    observer->read_only_load(pointer, bytes, HERE);
  }
}

float atomicAdd(float* address, float value) {
  return machine::atomically(
      address, machine::AtomicUse::kSum, HERE, [value](float old) { return old + value; });
}
double atomicAdd(double* address, double value) {
  return machine::atomically(
      address, machine::AtomicUse::kSum, HERE, [value](double old) { return old + value; });
}
#undef HERE
