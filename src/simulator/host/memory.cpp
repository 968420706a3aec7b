// cudaMalloc and the other functions that give and take memory.

#include "simulator/host/memory.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"
#include "simulator/host/stream.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "text/numbers.h"

namespace host {
namespace {

std::map<const char*, std::size_t> symbols;  // bytes, by their address

// A thread may allocate while another is in a call of CUDA.
std::mutex heap_lock;
// Bytes, by their address. A program's static objects allocate before this one would be made, and
// free after it would be gone.
std::map<const char*, std::size_t>& heap() {
  static auto& map = *new std::map<const char*, std::size_t>;
  return map;
}

std::optional<std::size_t> left_in_heap(const char* pointer) {
  const std::lock_guard guard(heap_lock);
  auto next = heap().upper_bound(pointer);
  if (next == heap().begin()) return std::nullopt;
  const auto& [begin, bytes] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(pointer - begin);
  return offset <= bytes ? std::optional(bytes - offset) : std::nullopt;
}

std::size_t left(const void* pointer, const void* begin, std::size_t bytes) {
  return bytes - machine::offset_from(begin, pointer);
}

}  // namespace

Pointed place_of(const void* pointer) {
  if (const auto array = machine::array_at(pointer)) {
    return {
        array->kind != machine::MemoryKind::device, true, array->name,
        left(pointer, array->data, array->bytes)};
  }
  // The matrices that a user's sgemm is called with.
  if (const machine::GlobalArray* array = machine::current_array_at(pointer)) {
    return {true, true, array->name, left(pointer, array->data, array->bytes)};
  }
  if (const auto array = machine::freed_array_at(pointer)) {
    return {false, false, array->name, 0, true};
  }
  if (machine::is_device_address(pointer)) return {false, false, "", 0};
  for (const machine::DeviceVariable& variable : machine::device_variables()) {
    const std::size_t offset = machine::offset_from(variable.data, pointer);
    if (offset < variable.bytes) return {false, true, variable.name, variable.bytes - offset};
  }
  auto next = symbols.upper_bound(static_cast<const char*>(pointer));
  if (next != symbols.begin()) {
    const auto& [data, bytes] = *std::prev(next);
    const std::size_t offset = machine::offset_from(data, pointer);
    if (offset < bytes) return {false, true, "", bytes - offset};
  }
  if (const auto* variable = machine::host_variable_at(reinterpret_cast<std::uintptr_t>(pointer))) {
    const auto* const begin = reinterpret_cast<const void*>(variable->begin);
    return {true, false, variable->name, left(pointer, begin, variable->bytes)};
  }
  if (const auto bytes = left_in_heap(static_cast<const char*>(pointer))) {
    return {true, false, "memory of the host", *bytes};
  }
  return {true, false, ""};
}

void know_heap(const void* memory, std::size_t bytes) {
  if (memory == nullptr) return;
  const auto* const begin = static_cast<const char*>(memory);
  const std::lock_guard guard(heap_lock);
  // A library may have freed the memory that was there.
  for (auto old = heap().lower_bound(begin); old != heap().end() && old->first < begin + bytes;) {
    old = heap().erase(old);
  }
  heap()[begin] = bytes;
}

void forget_heap(const void* memory) {
  const std::lock_guard guard(heap_lock);
  heap().erase(static_cast<const char*>(memory));
}

void know_symbol(const void* data, std::size_t bytes) {
  symbols[static_cast<const char*>(data)] = bytes;
}

std::string why_not_free(const void* pointer) {
  if (const auto array = machine::array_at(pointer)) {
    if (array->data != pointer) return "the pointer is not to the start of " + array->name;
    switch (array->kind) {
      case machine::MemoryKind::pinned:
        return array->name + " is memory of the host; free it by cudaFreeHost";
      case machine::MemoryKind::registered:
        return array->name + " is memory of the program; unregister it by cudaHostUnregister";
      default:
        return array->name + " is memory of the GPU; free it by cudaFree";
    }
  }
  if (const auto array = machine::freed_array_at(pointer)) return array->name + " was freed before";
  return "the pointer is not from cudaMalloc";
}

namespace {

using machine::MemoryKind;

cudaError_t allocate(
    const Call& call, void** pointer, std::size_t bytes, const char* argument, MemoryKind kind) {
  if (pointer == nullptr) {
    return call.fails(cudaErrorInvalidValue, "there is no pointer to store the address in");
  }
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = machine::allocate_array(bytes, argument, kind);
  if (*pointer != nullptr) return cudaSuccess;
  const auto left = static_cast<long long>(machine::most_device_bytes() - machine::device_bytes());
  return call.fails(
      cudaErrorMemoryAllocation, text::grouped(static_cast<long long>(bytes)) +
                                     " bytes are asked for, and this computer has " +
                                     text::grouped(left) + " left for the GPU's memory");
}

cudaError_t free(const Call& call, void* pointer, MemoryKind kind, MemoryKind or_kind) {
  host_waits();  // as a GPU does
  if (const auto array = machine::array_at(pointer)) note_unwritten(*array, call.place());
  if (pointer == nullptr || machine::free_array(pointer, kind, or_kind)) return cudaSuccess;
  return call.fails(cudaErrorInvalidValue, why_not_free(pointer));
}

// A hint about managed memory changes no count.
cudaError_t advise(const Call& call, const void* pointer, std::size_t bytes) {
  const auto array = machine::array_at(pointer);
  if (array && array->kind == MemoryKind::managed && place_of(pointer).bytes >= bytes) {
    return cudaSuccess;
  }
  return call.fails(
      cudaErrorInvalidValue, "the pointer is not to that much memory from cudaMallocManaged");
}

}  // namespace
}  // namespace host

using namespace host;

cudaError_t simt::malloc_device(void** pointer, std::size_t bytes, const char* argument) {
  return allocate(Call("cudaMalloc"), pointer, bytes, argument, MemoryKind::device);
}

cudaError_t simt::malloc_managed(
    void** pointer, std::size_t bytes, unsigned flags, const char* argument) {
  const Call call("cudaMallocManaged");
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) {
    return call.fails(
        cudaErrorInvalidValue, "the flags are neither cudaMemAttachGlobal nor cudaMemAttachHost");
  }
  if (bytes == 0) return call.fails(cudaErrorInvalidValue, "0 bytes are asked for");
  return allocate(call, pointer, bytes, argument, MemoryKind::managed);
}

cudaError_t simt::malloc_pinned(void** pointer, std::size_t bytes, const char* argument) {
  return allocate(Call("cudaMallocHost"), pointer, bytes, argument, MemoryKind::pinned);
}

cudaError_t simt::malloc_pitch(
    void** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
    const char* argument) {
  const Call call("cudaMallocPitch");
  constexpr std::size_t kPitch = 512;  // cudaDeviceProp::textureAlignment
  if (pointer == nullptr || pitch == nullptr) {
    return call.fails(
        cudaErrorInvalidValue, "there is no pointer to store the address or pitch in");
  }
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return allocate(call, pointer, *pitch * height, argument, MemoryKind::device);
}

cudaError_t simt::register_host(void* pointer, std::size_t bytes, const char* argument) {
  const Call call("cudaHostRegister");
  if (pointer == nullptr || bytes == 0) {
    return call.fails(cudaErrorInvalidValue, "there is no memory to register");
  }
  if (machine::register_array(pointer, bytes, argument)) return cudaSuccess;
  return call.fails(
      cudaErrorHostMemoryAlreadyRegistered, "the GPU can access a part of this memory already");
}

cudaError_t cudaFree(void* pointer) {
  return host::free(Call(), pointer, MemoryKind::device, MemoryKind::managed);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return host::free(Call(), pointer, MemoryKind::device, MemoryKind::managed);
}

cudaError_t cudaFreeHost(void* pointer) {
  return host::free(Call(), pointer, MemoryKind::pinned, MemoryKind::pinned);
}

cudaError_t cudaHostUnregister(void* pointer) {
  const Call call;
  if (machine::free_array(pointer, MemoryKind::registered, MemoryKind::registered)) {
    return cudaSuccess;
  }
  return call.fails(
      cudaErrorHostMemoryNotRegistered, "this memory was not registered by cudaHostRegister");
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  const Call call;
  const Pointed place = place_of(host);
  if (device == nullptr || !place.for_gpu || !place.for_host) {
    return call.fails(
        cudaErrorInvalidValue,
        "the pointer is not to memory from cudaHostAlloc, cudaMallocHost or cudaHostRegister");
  }
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const Call call;
  const auto most = machine::most_device_bytes();
  if (free != nullptr) *free = most - machine::device_bytes();
  const auto of_gpu = static_cast<std::size_t>(gpu().dram_gib) << 30;
  if (total != nullptr) *total = std::max(of_gpu, most);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const Call call;
  if (attributes == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  const Pointed place = place_of(pointer);
  auto* const address = const_cast<void*>(pointer);
  const auto array = machine::array_at(pointer);
  const bool managed = array && array->kind == MemoryKind::managed;
  attributes->type = managed          ? cudaMemoryTypeManaged
                     : !place.for_gpu ? cudaMemoryTypeUnregistered
                     : place.for_host ? cudaMemoryTypeHost
                                      : cudaMemoryTypeDevice;
  attributes->device = place.for_gpu ? 0 : cudaInvalidDeviceId;
  attributes->devicePointer = place.for_gpu ? address : nullptr;
  attributes->hostPointer = place.for_host ? address : nullptr;
  return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int, cudaStream_t) {
  return advise(Call(), pointer, bytes);
}

cudaError_t cudaMemPrefetchAsync(
    const void* pointer, std::size_t bytes, cudaMemLocation, unsigned, cudaStream_t) {
  return advise(Call(), pointer, bytes);
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise, int) {
  return advise(Call(), pointer, bytes);
}

cudaError_t cudaMemAdvise(
    const void* pointer, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return advise(Call(), pointer, bytes);
}
