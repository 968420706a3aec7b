// Questions that a kernel asks: the kind of memory that a pointer names, the ranks of lanes in a
// group, and the time.
#include <bit>

#include "cuda/collectives.h"
#include "machine/kernel_memory.h"
#include "machine/lanes.h"
#include "machine/worker.h"

namespace machine {
namespace {

bool is_shared(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const std::span<const std::byte> locals = thread_locals();
  return address - reinterpret_cast<std::uintptr_t>(locals.data()) < locals.size();
}

bool is_local(const void* pointer) {
  return running_worker != nullptr &&
         running_worker->memory().stacks.holds(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace
}  // namespace machine

unsigned __isShared(const void* pointer) {
  return machine::is_shared(pointer);
}
unsigned __isLocal(const void* pointer) {
  return machine::is_local(pointer);
}
unsigned __isGlobal(const void* pointer) {
  return !machine::is_shared(pointer) && !machine::is_local(pointer);
}

// Declared in cuda/headers/cooperative_groups.h.
namespace simt {
int lane_of_rank(unsigned mask, unsigned rank) {
  for (; rank > 0; --rank) mask &= mask - 1;
  return std::countr_zero(mask);
}
unsigned ranks_of_lanes(unsigned mask, unsigned lanes) {
  unsigned ranks = 0, rank = 0;
  machine::for_each_lane(mask, [&](int l) { ranks |= (lanes >> l & 1u) << rank++; });
  return ranks;
}
}  // namespace simt

long long clock64() {
  constexpr long long kCyclesPerRead = 32;
  static thread_local long long cycles = 0;
  return cycles += kCyclesPerRead;
}
