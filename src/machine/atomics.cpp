#include "cuda/collectives.h"

#include <utility>

#include "machine/fault.h"
#include "machine/waiting.h"

namespace machine {

GridBarrier grid_barrier;
bool any_may_wait = false;  // set by waiting.cpp if that is linked

namespace {
__thread bool in_block_next = false;
}

bool takes_block_scope() {
  return std::exchange(in_block_next, false);
}

bool blocks_may_wait() {
  return any_may_wait;
}

}  // namespace machine

void simt::in_block() {
  if (machine::running_worker == nullptr) return;
  machine::in_block_next = machine::running_worker->observer() != nullptr;
}

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
std::uint16_t simt::atomic_add(
    std::uint16_t* address, std::uint16_t value, const model::NarrowFormat& format) {
  return machine::atomically(address, machine::AtomicUse::kSum, HERE, [&](std::uint16_t old) {
    return model::narrowed_add(old, value, format);
  });
}
std::uint32_t simt::atomic_add(
    std::uint32_t* address, std::uint32_t values, const model::NarrowFormat& format) {
  return machine::atomically(address, machine::AtomicUse::kSum, HERE, [&](std::uint32_t old) {
    const auto part = [](std::uint32_t both, int i) {
      return static_cast<std::uint16_t>(both >> 16 * i);
    };
    const std::uint32_t low = model::narrowed_add(part(old, 0), part(values, 0), format);
    return low | std::uint32_t{model::narrowed_add(part(old, 1), part(values, 1), format)} << 16;
  });
}
#undef HERE
