// Questions that a kernel asks about its environment: the kind of memory that a pointer names, and
// the time.
#include "cuda/collectives.h"
#include "machine/kernel_memory.h"
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

long long clock64() {
  constexpr long long kCyclesPerRead = 32;
  static thread_local long long cycles = 0;
  return cycles += kCyclesPerRead;
}
