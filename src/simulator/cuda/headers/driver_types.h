// The types of CUDA's host functions, for builds without the toolkit.
#pragma once

// Programs test by this name whether CUDA's types are defined.
#define __DRIVER_TYPES_H__

#include <cstddef>

#include "simulator/cuda/vector_types.h"

// Of CUDA 12, whose functions these are. For host and kernels alike.
#define CUDART_VERSION 12040
#define CUDART_CB

enum cudaError {
#define SIMT_ERROR(name, number, words) name = number,
#include "simulator/cuda/errors.inc"
#undef SIMT_ERROR
};
using cudaError_t = cudaError;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaStreamCallback_t = void (*)(cudaStream_t stream, cudaError_t status, void* data);
using cudaHostFn_t = void (*)(void* data);

// These are pointers that no constant expression can make.
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(2))

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaMemoryType {
  cudaMemoryTypeUnregistered,
  cudaMemoryTypeHost,
  cudaMemoryTypeDevice,
  cudaMemoryTypeManaged
};
enum cudaMemoryAdvise {
  cudaMemAdviseSetReadMostly = 1,
  cudaMemAdviseUnsetReadMostly,
  cudaMemAdviseSetPreferredLocation,
  cudaMemAdviseUnsetPreferredLocation,
  cudaMemAdviseSetAccessedBy,
  cudaMemAdviseUnsetAccessedBy
};
enum cudaMemLocationType {
  cudaMemLocationTypeInvalid,
  cudaMemLocationTypeDevice,
  cudaMemLocationTypeHost,
  cudaMemLocationTypeHostNuma,
  cudaMemLocationTypeHostNumaCurrent
};
struct cudaMemLocation {
  cudaMemLocationType type;
  int id;
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9,
  cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};
enum cudaSharedCarveout {
  cudaSharedmemCarveoutDefault = -1,
  cudaSharedmemCarveoutMaxL1 = 0,
  cudaSharedmemCarveoutMaxShared = 100
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaSharedMemConfig {
  cudaSharedMemBankSizeDefault,
  cudaSharedMemBankSizeFourByte,
  cudaSharedMemBankSizeEightByte
};
enum cudaComputeMode {
  cudaComputeModeDefault,
  cudaComputeModeExclusive,
  cudaComputeModeProhibited,
  cudaComputeModeExclusiveProcess
};
enum cudaLimit {
  cudaLimitStackSize,
  cudaLimitPrintfFifoSize,
  cudaLimitMallocHeapSize,
  cudaLimitDevRuntimeSyncDepth,
  cudaLimitDevRuntimePendingLaunchCount,
  cudaLimitMaxL2FetchGranularity,
  cudaLimitPersistingL2CacheSize
};

inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1,
                          cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4;
inline constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
                          cudaHostRegisterMapped = 2, cudaHostRegisterIoMemory = 4,
                          cudaHostRegisterReadOnly = 8;
inline constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4;
inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1,
                          cudaEventDisableTiming = 2, cudaEventInterprocess = 4;
inline constexpr unsigned cudaEventRecordDefault = 0, cudaEventRecordExternal = 1;
inline constexpr unsigned cudaEventWaitDefault = 0, cudaEventWaitExternal = 1;
inline constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1,
                          cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4,
                          cudaDeviceMapHost = 8, cudaDeviceLmemResizeToMax = 16,
                          cudaDeviceBlockingSync = cudaDeviceScheduleBlockingSync;
inline constexpr unsigned cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1;
inline constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;

struct cudaPointerAttributes {
  cudaMemoryType type;
  int device;
  void *devicePointer, *hostPointer;
};

struct cudaExtent {
  std::size_t width, height, depth;
};
struct cudaPitchedPtr {
  void* ptr;
  std::size_t pitch, xsize, ysize;
};

struct cudaPos {
  std::size_t x, y, z;
};
// Its arrays are null: textures' arrays are not traced.
struct cudaMemcpy3DParms {
  struct cudaArray* srcArray;
  cudaPos srcPos;
  cudaPitchedPtr srcPtr;
  cudaArray* dstArray;
  cudaPos dstPos;
  cudaPitchedPtr dstPtr;
  cudaExtent extent;
  cudaMemcpyKind kind;
};

struct cudaFuncAttributes {
  std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
  int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA;
  int maxDynamicSharedSizeBytes, preferredShmemCarveout;
};

struct CUuuid_st {
  char bytes[16];
};
using cudaUUID_t = CUuuid_st;

// With the members that CUDA 13 has removed, because programs still print them.
struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  int clockRate;  // kHz
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
  int computeMode;
  int maxTexture1D, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2],
      maxTexture2DLayered[3];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver;
  int asyncEngineCount, unifiedAddressing;
  int memoryClockRate, memoryBusWidth;  // kHz, bits
  int l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
  int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio;
  int pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported;
  int canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, memoryPoolsSupported, clusterLaunch;
};

// The properties that a program can query here: X(name, number of cudaDevAttr..., member of
// cudaDeviceProp).
#define SIMT_DEVICE_ATTRIBUTES(X)                                                        \
  X(MaxThreadsPerBlock, 1, maxThreadsPerBlock)                                           \
  X(MaxBlockDimX, 2, maxThreadsDim[0])                                                   \
  X(MaxBlockDimY, 3, maxThreadsDim[1])                                                   \
  X(MaxBlockDimZ, 4, maxThreadsDim[2])                                                   \
  X(MaxGridDimX, 5, maxGridSize[0])                                                      \
  X(MaxGridDimY, 6, maxGridSize[1])                                                      \
  X(MaxGridDimZ, 7, maxGridSize[2])                                                      \
  X(MaxSharedMemoryPerBlock, 8, sharedMemPerBlock)                                       \
  X(TotalConstantMemory, 9, totalConstMem)                                               \
  X(WarpSize, 10, warpSize)                                                              \
  X(MaxPitch, 11, memPitch)                                                              \
  X(MaxRegistersPerBlock, 12, regsPerBlock)                                              \
  X(ClockRate, 13, clockRate)                                                            \
  X(TextureAlignment, 14, textureAlignment)                                              \
  X(GpuOverlap, 15, deviceOverlap)                                                       \
  X(MultiProcessorCount, 16, multiProcessorCount)                                        \
  X(KernelExecTimeout, 17, kernelExecTimeoutEnabled)                                     \
  X(Integrated, 18, integrated)                                                          \
  X(CanMapHostMemory, 19, canMapHostMemory)                                              \
  X(ComputeMode, 20, computeMode)                                                        \
  X(ConcurrentKernels, 31, concurrentKernels)                                            \
  X(EccEnabled, 32, ECCEnabled)                                                          \
  X(PciBusId, 33, pciBusID)                                                              \
  X(PciDeviceId, 34, pciDeviceID)                                                        \
  X(TccDriver, 35, tccDriver)                                                            \
  X(MemoryClockRate, 36, memoryClockRate)                                                \
  X(GlobalMemoryBusWidth, 37, memoryBusWidth)                                            \
  X(L2CacheSize, 38, l2CacheSize)                                                        \
  X(MaxThreadsPerMultiProcessor, 39, maxThreadsPerMultiProcessor)                        \
  X(AsyncEngineCount, 40, asyncEngineCount)                                              \
  X(UnifiedAddressing, 41, unifiedAddressing)                                            \
  X(PciDomainId, 50, pciDomainID)                                                        \
  X(ComputeCapabilityMajor, 75, major)                                                   \
  X(ComputeCapabilityMinor, 76, minor)                                                   \
  X(StreamPrioritiesSupported, 78, streamPrioritiesSupported)                            \
  X(GlobalL1CacheSupported, 79, globalL1CacheSupported)                                  \
  X(LocalL1CacheSupported, 80, localL1CacheSupported)                                    \
  X(MaxSharedMemoryPerMultiprocessor, 81, sharedMemPerMultiprocessor)                    \
  X(MaxRegistersPerMultiprocessor, 82, regsPerMultiprocessor)                            \
  X(ManagedMemory, 83, managedMemory)                                                    \
  X(HostNativeAtomicSupported, 86, hostNativeAtomicSupported)                            \
  X(SingleToDoublePrecisionPerfRatio, 87, singleToDoublePrecisionPerfRatio)              \
  X(PageableMemoryAccess, 88, pageableMemoryAccess)                                      \
  X(ConcurrentManagedAccess, 89, concurrentManagedAccess)                                \
  X(ComputePreemptionSupported, 90, computePreemptionSupported)                          \
  X(CanUseHostPointerForRegisteredMem, 91, canUseHostPointerForRegisteredMem)            \
  X(CooperativeLaunch, 95, cooperativeLaunch)                                            \
  X(CooperativeMultiDeviceLaunch, 96, cooperativeMultiDeviceLaunch)                      \
  X(MaxSharedMemoryPerBlockOptin, 97, sharedMemPerBlockOptin)                            \
  X(HostRegisterSupported, 99, hostRegisterSupported)                                    \
  X(PageableMemoryAccessUsesHostPageTables, 100, pageableMemoryAccessUsesHostPageTables) \
  X(DirectManagedMemAccessFromHost, 101, directManagedMemAccessFromHost)                 \
  X(MaxBlocksPerMultiprocessor, 106, maxBlocksPerMultiProcessor)                         \
  X(MaxPersistingL2CacheSize, 108, persistingL2CacheMaxSize)                             \
  X(ReservedSharedMemoryPerBlock, 111, reservedSharedMemPerBlock)                        \
  X(MemoryPoolsSupported, 115, memoryPoolsSupported)                                     \
  X(ClusterLaunch, 120, clusterLaunch)
enum cudaDeviceAttr {
#define SIMT_ATTRIBUTE(name, number, member) cudaDevAttr##name = number,
  SIMT_DEVICE_ATTRIBUTES(SIMT_ATTRIBUTE)
#undef SIMT_ATTRIBUTE
      cudaDevAttrMemoryPoolSupportedHandleTypes = 119
};

enum cudaDeviceP2PAttr {
  cudaDevP2PAttrPerformanceRank = 1,
  cudaDevP2PAttrAccessSupported,
  cudaDevP2PAttrNativeAtomicSupported,
  cudaDevP2PAttrCudaArrayAccessSupported
};
