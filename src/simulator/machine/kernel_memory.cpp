#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <optional>

#include "simulator/cuda/ptx.h"
#include "simulator/cuda/vector_types.h"
#include "simulator/machine/fault.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/position.h"
#include "simulator/machine/symbols.h"
#include "simulator/machine/worker.h"

// Every `extern __shared__ T name[]` of a kernel is bound to this
// (src/simulator/trace/keep_symbols.sh). Its size is the maximum of any GPU, 227 KB, in pages of
// its own. It is aligned as such an array may ask.
inline constexpr int kDynamicSharedBytes = 228 * 1024;
alignas(65536) __thread char simt_dynamic_shared[kDynamicSharedBytes];

extern "C" char __executable_start, end;  // from the linker

namespace machine {

__thread uint3 threadIdx, blockIdx, blockDim, gridDim;
__thread int warpSize;

namespace {

std::uintptr_t address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

// Whether the program has memory at this address. The advice is the default, so it changes nothing;
// it fails where nothing is mapped.
bool is_mapped(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return madvise(reinterpret_cast<void*>(address / page * page), page, MADV_NORMAL) == 0;
}

bool is_in_program(std::uintptr_t address) {
  return address_of(&__executable_start) <= address && address < address_of(&end);
}

void give_shared_addresses(std::vector<KernelArray>& arrays) {
  // A bit of the address that is below the array's alignment is that of the pointer: a swizzle uses
  // the lowest ten, and code with two buffers may switch between them by a higher one.
  const auto bits_kept = [](const KernelArray& array) {
    const std::uint64_t lowest = array.begin & -array.begin;
    const std::uint64_t aligned = lowest > array.bytes ? std::bit_floor(array.bytes) : lowest;
    return static_cast<std::uint32_t>(aligned > 1024 ? aligned - 1 : 1023);
  };
  std::uint32_t end = 0;
  for (const bool is_dynamic : {true, false}) {
    for (KernelArray& array : arrays) {
      if (!array.shared || (array.begin == address_of(simt_dynamic_shared)) != is_dynamic) continue;
      array.shared_address =
          end + ((static_cast<std::uint32_t>(array.begin) - end) & bits_kept(array));
      end = array.shared_address + static_cast<std::uint32_t>(array.bytes);
    }
  }
}

}  // namespace

char* dynamic_shared_memory() {
  return simt_dynamic_shared;
}

std::span<const std::byte> thread_locals() {
  static __thread const std::byte* begin;
  static __thread std::size_t bytes;
  if (begin != nullptr) return {begin, bytes};
  std::span<const std::byte> block;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
          *static_cast<std::span<const std::byte>*>(found) = {
              static_cast<const std::byte*>(info->dlpi_tls_data), info->dlpi_phdr[i].p_memsz};
        }
        return 1;  // the executable comes first; the libraries do not matter
      },
      &block);
  begin = block.data();
  bytes = block.size();
  return block;
}

std::vector<MemoryRange> built_in_variables() {
  const auto range = [](const auto& variable) {
    return MemoryRange{address_of(&variable), sizeof variable};
  };
  return {range(threadIdx), range(blockIdx), range(blockDim), range(gridDim), range(warpSize)};
}

std::vector<KernelArray> arrays_of(
    const void* kernel, int dynamic_bytes, std::span<const GlobalArray> global) {
  std::vector<KernelArray> arrays;
  for (const GlobalArray& array : global) {
    arrays.push_back(
        {array.name, address_of(array.data), array.bytes, false, array.result, array.result});
  }
  for (const GlobalArray& array : device_arrays()) {
    arrays.push_back({array.name, address_of(array.data), array.bytes, false, false, true});
    arrays.back().own_pages = array.own_pages;
    arrays.back().element = array.element;
  }
  for (const DeviceVariable& variable : device_variables()) {
    if (variable.kind == simt::VariableKind::constant) continue;
    arrays.push_back(
        {variable.name, address_of(variable.data), variable.bytes, false, false, true});
    arrays.back().own_pages = false;
    arrays.back().element = variable.element;
  }
  const std::uintptr_t locals = address_of(thread_locals().data());
  arrays.push_back(
      {"dynamic", address_of(simt_dynamic_shared), static_cast<std::size_t>(dynamic_bytes), true});
  for (const SharedArray& array : shared_arrays(kernel)) {
    arrays.push_back({array.name, locals + array.offset, array.bytes, true});
    if (array.function == nullptr || array.function == kernel) continue;
    arrays.back().owner = place_of_code(array.function);
    arrays.back().owner_bytes = static_cast<CodePlace>(array.function_bytes);
  }
  give_shared_addresses(arrays);
  return arrays;
}

std::vector<MemoryRange> uncounted_memory(const void* arguments, std::size_t bytes) {
  std::vector<MemoryRange> ranges;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          static_cast<std::vector<MemoryRange>*>(found)->push_back(
              {info->dlpi_addr + segment.p_vaddr, segment.p_memsz});
        }
        return 1;  // the executable comes first
      },
      &ranges);
  ranges.push_back({address_of(arguments), bytes});
  return ranges;
}

model::Hazard out_of_bounds(
    std::span<const KernelArray> arrays, std::uintptr_t address, int bytes, std::int64_t block,
    const model::Hazard::Actor& actor) {
  // An address farther away than a 32-bit index can reach is a stray pointer.
  constexpr std::uint64_t kNear = std::uint64_t{1} << 33;
  model::Hazard hazard{model::HazardKind::out_of_bounds, "", address, block, actor, {}};
  std::uint64_t nearest = kNear;
  const auto* const pointer = reinterpret_cast<const void*>(address);
  if (const HostVariable* variable = host_variable_at(address)) {
    hazard.kind = model::HazardKind::host_memory;
    hazard.array = variable->name;
    return hazard;
  }
  for (const KernelArray& array : arrays) {
    if (array.bytes == 0 || array.owner != 0) continue;
    const auto* const data = reinterpret_cast<const void*>(array.begin);
    if (is_device_address(data) && !is_device_address(pointer)) continue;
    // The host's heap often follows the program's variables.
    if (is_in_program(array.begin) && !is_in_program(address) && is_mapped(address)) continue;
    const std::uintptr_t end = array.begin + array.bytes;
    const std::uint64_t distance = address < array.begin   ? array.begin - address
                                   : address + bytes > end ? address + bytes - end
                                                           : 0;
    if (distance >= nearest) continue;
    nearest = distance;
    hazard.array = array.name;
    hazard.shared = array.shared;
    hazard.byte = address - array.begin;
    const auto element = static_cast<std::int64_t>(
        array.element > 0         ? array.element
        : bytes == 0 || bytes > 8 ? 4
                                  : bytes);
    const auto byte = static_cast<std::int64_t>(hazard.byte);
    hazard.extent = static_cast<std::int64_t>(array.bytes) / element;
    // Rounded down: byte -1 is in element -1. A vector may begin inside of the array.
    hazard.index = byte < 0 ? (byte + 1) / element - 1 : std::max(byte / element, hazard.extent);
  }
  // Also for an index beyond the end of freed memory.
  if (const std::optional<DeviceArray> freed = freed_array_near(pointer, nearest)) {
    hazard.kind = model::HazardKind::freed_memory;
    hazard.array = freed->name;
    hazard.byte = address - address_of(freed->data);
    hazard.shared = false;
    hazard.extent = 0;
  } else if (hazard.array.empty() && !is_device_address(pointer) && is_mapped(address)) {
    hazard.kind = model::HazardKind::host_memory;
  }
  return hazard;
}

std::uint32_t shared_address_of(const void* pointer, const void* place) {
  std::optional<std::uint32_t> behind;
  for (const KernelArray& array : running_worker->memory().arrays) {
    const std::uintptr_t byte = address_of(pointer) - array.begin;
    if (!array.shared || byte > array.bytes) continue;
    const auto found = array.shared_address + static_cast<std::uint32_t>(byte);
    if (byte < array.bytes) return found;
    if (!behind) behind = found;
  }
  if (!behind) {
    fault("it takes the shared address of something that is not in shared memory", place);
  }
  return *behind;
}

char* pointer_to_shared(std::uint32_t address, std::span<const KernelArray> arrays) {
  std::uintptr_t begin = address_of(simt_dynamic_shared);
  std::uint32_t start = 0;
  for (const KernelArray& array : arrays) {
    const std::uint32_t at = array.shared_address;
    if (!array.shared || array.bytes == 0 || at > address || at < start) continue;
    begin = array.begin;
    start = at;
  }
  return reinterpret_cast<char*>(begin) + (address - start);
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
