// CUDA's memory pools: memory in the order of a stream. Here all pools are the GPU's one memory.
#pragma once

#include <cstddef>

#include "simulator/cuda/headers/driver_types.h"

enum cudaMemAllocationType {
  cudaMemAllocationTypeInvalid,
  cudaMemAllocationTypePinned,
  cudaMemAllocationTypeManaged
};
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone = 0,
  cudaMemHandleTypePosixFileDescriptor = 1,
  cudaMemHandleTypeWin32 = 2,
  cudaMemHandleTypeWin32Kmt = 4,
  cudaMemHandleTypeFabric = 8
};
enum cudaMemAccessFlags {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3
};
enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic,
  cudaMemPoolReuseAllowInternalDependencies,
  cudaMemPoolAttrReleaseThreshold,
  cudaMemPoolAttrReservedMemCurrent,
  cudaMemPoolAttrReservedMemHigh,
  cudaMemPoolAttrUsedMemCurrent,
  cudaMemPoolAttrUsedMemHigh
};

using cudaMemPool_t = struct CUmemPoolHandle_st*;
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
struct cudaMemPoolPtrExportData {
  unsigned char reserved[64];
};

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep);
// The value is an int for the attributes about reuse, and 64 bits for the others.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolSetAccess(
    cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count);
cudaError_t cudaMemPoolGetAccess(
    cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location);

// Memory that a graph allocates is there from the moment when the node is added, and it stays: each
// launch of the graph uses the same. So to free it does nothing.
struct cudaMemAllocNodeParams {
  cudaMemPoolProps poolProps;
  const cudaMemAccessDesc* accessDescs;
  std::size_t accessDescCount, bytesize;
  void* dptr;
};
enum cudaGraphMemAttributeType {
  cudaGraphMemAttrUsedMemCurrent,
  cudaGraphMemAttrUsedMemHigh,
  cudaGraphMemAttrReservedMemCurrent,
  cudaGraphMemAttrReservedMemHigh
};
cudaError_t cudaGraphAddMemAllocNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    cudaMemAllocNodeParams* parameters);
cudaError_t cudaGraphAddMemFreeNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    void* pointer);
cudaError_t cudaDeviceGetGraphMemAttribute(
    int device, cudaGraphMemAttributeType attribute, void* value);
cudaError_t cudaDeviceSetGraphMemAttribute(
    int device, cudaGraphMemAttributeType attribute, void* value);
cudaError_t cudaDeviceGraphMemTrim(int device);

namespace simt {
cudaError_t malloc_in_stream(
    void** pointer, std::size_t bytes, cudaStream_t stream, const char* argument);
cudaError_t malloc_in_pool(
    void** pointer, std::size_t bytes, cudaMemPool_t pool, const char* argument);
}  // namespace simt

// Memory that several processes share is not here: these fail when they are called.
cudaError_t cudaMemPoolExportToShareableHandle(
    void* handle, cudaMemPool_t pool, cudaMemAllocationHandleType type, unsigned flags);
cudaError_t cudaMemPoolImportFromShareableHandle(
    cudaMemPool_t* pool, void* handle, cudaMemAllocationHandleType type, unsigned flags);
cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer);
cudaError_t cudaMemPoolImportPointer(
    void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* data);

struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer);
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* pointer);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle);
