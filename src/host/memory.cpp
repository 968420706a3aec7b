// cudaMalloc and the other functions that give and take memory.
#include <algorithm>
#include <string>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/gpu.h"
#include "host/graph_memory.h"
#include "host/order.h"
#include "host/places.h"
#include "machine/device_memory.h"
#include "text/numbers.h"

namespace host {
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
