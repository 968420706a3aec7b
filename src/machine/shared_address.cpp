#include "machine/shared_address.h"

#include <optional>

#include "cuda/ptx.h"
#include "machine/fault.h"
#include "machine/worker.h"

namespace machine {
namespace {

// Calls visit(array, its shared address) in the order of the addresses.
template <class Visit>
void for_each_shared(std::span<const KernelArray> arrays, Visit visit) {
  constexpr std::uint32_t kAligned = 1024;  // the bits that a swizzle uses are those of the pointer
  const auto dynamic = reinterpret_cast<std::uintptr_t>(dynamic_shared_memory());
  std::uint32_t end = 0;
  for (const bool is_dynamic : {true, false}) {
    for (const KernelArray& array : arrays) {
      if (!array.shared || (array.begin == dynamic) != is_dynamic) continue;
      const auto start = end + (static_cast<std::uint32_t>(array.begin) - end) % kAligned;
      visit(array, start);
      end = start + static_cast<std::uint32_t>(array.bytes);
    }
  }
}

}  // namespace

std::uint32_t shared_address_of(const void* pointer, const void* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  std::optional<std::uint32_t> inside, behind;
  for_each_shared(
      running_worker->memory().arrays, [&](const KernelArray& array, std::uint32_t start) {
        const std::uintptr_t byte = address - array.begin;
        auto& found = byte < array.bytes ? inside : behind;
        if (byte <= array.bytes && !found) found = start + static_cast<std::uint32_t>(byte);
      });
  if (!inside) inside = behind;
  if (!inside) {
    fault("it takes the shared address of something that is not in shared memory", place);
  }
  return *inside;
}

char* pointer_to_shared(std::uint32_t address, std::span<const KernelArray> arrays) {
  char* pointer = dynamic_shared_memory() + address;
  for_each_shared(arrays, [&](const KernelArray& array, std::uint32_t start) {
    if (address < start) return;
    pointer = reinterpret_cast<char*>(array.begin) + (address - start);
  });
  return pointer;
}

char* pointer_to_shared(std::uint32_t address) {
  return pointer_to_shared(address, running_worker->memory().arrays);
}

const KernelArray* shared_array_at(const void* pointer, std::size_t bytes) {
  for (const KernelArray& array : running_worker->memory().arrays) {
    if (array.shared && array.holds(reinterpret_cast<std::uintptr_t>(pointer), bytes)) {
      return &array;
    }
  }
  return nullptr;
}

}  // namespace machine

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
