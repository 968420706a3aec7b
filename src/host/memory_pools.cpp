// Memory pools. Memory from a pool is the GPU's memory, as from cudaMalloc: when it is given and
// taken, all earlier work of the stream has finished.
#include <cstdint>
#include <cstring>
#include <map>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/handles.h"
#include "machine/device_memory.h"

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
