#include "machine/shared_address.h"

#include "cuda/ptx.h"
#include "machine/fault.h"
#include "machine/kernel_memory.h"
#include "machine/worker.h"

std::uint32_t machine::shared_address_of(const void* pointer, const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  for (const KernelArray& array : running_worker->memory().arrays) {
    if (!array.shared || address - array.begin > array.bytes) continue;
    return static_cast<std::uint32_t>(
        address - reinterpret_cast<std::uintptr_t>(dynamic_shared_memory()));
  }
  fault("it takes the shared address of something that is not in shared memory", place);
}

char* machine::pointer_to_shared(std::uint32_t address) {
  return dynamic_shared_memory() + static_cast<std::int32_t>(address);
}

bool machine::is_shared_memory(const void* pointer) {
  const auto locals = thread_locals();
  return reinterpret_cast<std::uintptr_t>(pointer) -
             reinterpret_cast<std::uintptr_t>(locals.data()) <
         locals.size();
}

std::size_t __cvta_generic_to_shared(const void* pointer) {
  return machine::shared_address_of(pointer, __builtin_return_address(0));
}
void* __cvta_shared_to_generic(std::size_t address) {
  return machine::pointer_to_shared(static_cast<std::uint32_t>(address));
}
