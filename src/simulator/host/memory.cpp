// cudaMalloc and the other functions that give and take memory.

#include "simulator/host/memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"
#include "simulator/host/stream.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/symbols.h"
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
  return bytes - (static_cast<const char*>(pointer) - static_cast<const char*>(begin));
}

}  // namespace

Place place_of(const void* pointer) {
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
    const auto offset = static_cast<std::size_t>(
        static_cast<const char*>(pointer) - static_cast<const char*>(variable.data));
    if (offset < variable.bytes) return {false, true, variable.name, variable.bytes - offset};
  }
  auto next = symbols.upper_bound(static_cast<const char*>(pointer));
  if (next != symbols.begin()) {
    const auto& [data, bytes] = *std::prev(next);
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - data);
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
  if (pointer == nullptr || is_of_graph(pointer) || machine::free_array(pointer, kind, or_kind))
    return cudaSuccess;
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
  if (pitch == nullptr) {
    return call.fails(cudaErrorInvalidValue, "there is no pointer to store the pitch in");
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

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  // A graph's memory must be there at each of its launches.
  if (simt::is_captured(stream)) return cudaSuccess;
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
  const Place place = place_of(host);
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
  const Place place = place_of(pointer);
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

// Memory pools. Memory from a pool is the GPU's memory, as from cudaMalloc: when it is given and
// taken, all earlier work of the stream has finished.

struct CUmemPoolHandle_st {
  std::map<cudaMemPoolAttr, std::uint64_t> values = {};
};

namespace host {
namespace {

CUmemPoolHandle_st the_gpus;
Pool<CUmemPoolHandle_st> pools;
cudaMemPool_t current = &the_gpus;

constexpr const char* kNoPool = "the memory pool was not created, or was destroyed before";
constexpr const char* kOneProcess =
    "memory that several processes share is not available: one process runs here";

bool is_pool(cudaMemPool_t pool) {
  return pool == &the_gpus || pools.holds(pool);
}

bool is_about_reuse(cudaMemPoolAttr attribute) {
  return attribute < cudaMemPoolAttrReleaseThreshold;
}

cudaError_t pool_of_gpu(const Call& call, cudaMemPool_t* pool, cudaMemPool_t which, int device) {
  if (device != 0 || pool == nullptr) {
    return call.fails(cudaErrorInvalidDevice, "there is one GPU here, with the number 0");
  }
  *pool = which;
  return cudaSuccess;
}

}  // namespace
}  // namespace host

using namespace host;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return pool_of_gpu(Call(), pool, &the_gpus, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return pool_of_gpu(Call(), pool, current, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  const Call call;
  if (!is_pool(pool)) return call.fails(cudaErrorInvalidValue, kNoPool);
  cudaMemPool_t before = nullptr;
  const cudaError_t error = pool_of_gpu(call, &before, current, device);
  if (error == cudaSuccess) current = pool;
  return error;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  const Call call;
  if (pool == nullptr || properties == nullptr) {
    return call.fails(cudaErrorInvalidValue, "there is no result, or there are no properties");
  }
  *pool = pools.make({});
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const Call call;
  if (!pools.destroy(pool)) return call.fails(cudaErrorInvalidValue, kNoPool);
  if (pool == current) current = &the_gpus;
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  const Call call;
  return is_pool(pool) ? cudaSuccess : call.fails(cudaErrorInvalidValue, kNoPool);
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const Call call;
  if (!is_pool(pool) || value == nullptr) return call.fails(cudaErrorInvalidValue, kNoPool);
  std::uint64_t& kept = pool->values[attribute];
  kept = 0;
  std::memcpy(&kept, value, is_about_reuse(attribute) ? sizeof(int) : sizeof kept);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const Call call;
  if (!is_pool(pool) || value == nullptr) return call.fails(cudaErrorInvalidValue, kNoPool);
  const auto set = pool->values.find(attribute);
  std::uint64_t kept = set != pool->values.end() ? set->second : is_about_reuse(attribute) ? 1 : 0;
  // All that is allocated stands for what the pool has given.
  if (attribute >= cudaMemPoolAttrReservedMemCurrent) kept = machine::device_bytes();
  std::memcpy(value, &kept, is_about_reuse(attribute) ? sizeof(int) : sizeof kept);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc*, std::size_t) {
  const Call call;
  return is_pool(pool) ? cudaSuccess : call.fails(cudaErrorInvalidValue, kNoPool);
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation*) {
  const Call call;
  if (!is_pool(pool) || flags == nullptr) return call.fails(cudaErrorInvalidValue, kNoPool);
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t simt::malloc_in_pool(
    void** pointer, std::size_t bytes, cudaMemPool_t pool, const char* argument) {
  const Call call("cudaMallocFromPoolAsync");
  if (!is_pool(pool)) return call.fails(cudaErrorInvalidValue, kNoPool);
  return malloc_device(pointer, bytes, argument);
}

cudaError_t cudaMemPoolExportToShareableHandle(
    void*, cudaMemPool_t, cudaMemAllocationHandleType, unsigned) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaMemPoolImportFromShareableHandle(
    cudaMemPool_t*, void*, cudaMemAllocationHandleType, unsigned) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData*, void*) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaMemPoolImportPointer(void**, cudaMemPool_t, cudaMemPoolPtrExportData*) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaIpcCloseMemHandle(void*) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return Call().fails(cudaErrorNotSupported, kOneProcess);
}
