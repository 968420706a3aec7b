// Names of CUDA's driver interface, for builds without the toolkit. Files include it for its
// version and types; its functions do not run on a CPU here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/cuda/tensor_map.h"

#define CUDA_VERSION CUDART_VERSION
#define CUDAAPI

enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_NOT_SUPPORTED = 801
};
// With the numbers of the runtime's attributes.
enum CUdevice_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_PITCH = 11,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = 14,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_INTEGRATED = 18,
  CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83,
  CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  // The following functions do not exist on a CPU.
  CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED = 104,
  CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED = 107,
  CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED = 110
};
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;

// Queries of programs that otherwise use the runtime.
CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int* version);
CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int number);
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxSynchronize();
CUresult cuGetErrorName(CUresult result, const char** name);
CUresult cuGetErrorString(CUresult result, const char** words);
// For checkCudaErrors of helper_cuda.h.
inline const char* _cudaGetErrorEnum(CUresult result) {
  const char* name = "";
  cuGetErrorName(result, &name);
  return name;
}
// The array that contains the address.
CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address);

#define SIMT_REFUSED(function)                                                                \
  template <class... Arguments>                                                               \
  [[gnu::error("make try: " #function " is of the driver interface, which does not run on a " \
               "CPU here; use the runtime interface")]] CUresult                              \
  function(const Arguments&...);
SIMT_REFUSED(cuDevicePrimaryCtxRetain)
SIMT_REFUSED(cuDevicePrimaryCtxRelease)
SIMT_REFUSED(cuCtxCreate)
SIMT_REFUSED(cuCtxDestroy)
SIMT_REFUSED(cuCtxSetCurrent)
SIMT_REFUSED(cuCtxGetCurrent)
SIMT_REFUSED(cuModuleLoad)
SIMT_REFUSED(cuModuleLoadData)
SIMT_REFUSED(cuModuleLoadDataEx)
SIMT_REFUSED(cuModuleUnload)
SIMT_REFUSED(cuModuleGetFunction)
SIMT_REFUSED(cuModuleGetGlobal)
SIMT_REFUSED(cuFuncSetAttribute)
SIMT_REFUSED(cuFuncGetAttribute)
SIMT_REFUSED(cuLaunchKernel)
SIMT_REFUSED(cuLaunchKernelEx)
SIMT_REFUSED(cuMemAlloc)
SIMT_REFUSED(cuMemFree)
SIMT_REFUSED(cuMemcpyHtoD)
SIMT_REFUSED(cuMemcpyDtoH)
SIMT_REFUSED(cuMemcpyDtoD)
SIMT_REFUSED(cuMemsetD32)
SIMT_REFUSED(cuStreamCreate)
SIMT_REFUSED(cuStreamSynchronize)
SIMT_REFUSED(cuStreamDestroy)
SIMT_REFUSED(cuEventCreate)
SIMT_REFUSED(cuEventRecord)
SIMT_REFUSED(cuEventElapsedTime)
SIMT_REFUSED(cuGetProcAddress)
SIMT_REFUSED(cuTensorMapEncodeTiled)
SIMT_REFUSED(cuCtxSetLimit)
SIMT_REFUSED(cuCtxPushCurrent)
SIMT_REFUSED(cuCtxPopCurrent)
SIMT_REFUSED(cuMemAddressReserve)
SIMT_REFUSED(cuMemAddressFree)
SIMT_REFUSED(cuMemCreate)
SIMT_REFUSED(cuMemRelease)
SIMT_REFUSED(cuMemMap)
SIMT_REFUSED(cuMemUnmap)
SIMT_REFUSED(cuMemSetAccess)
SIMT_REFUSED(cuMemGetAllocationGranularity)
SIMT_REFUSED(cuMemAllocManaged)
SIMT_REFUSED(cuMemAllocHost)
SIMT_REFUSED(cuMemFreeHost)
SIMT_REFUSED(cuMemsetD8)
SIMT_REFUSED(cuMemcpyHtoDAsync)
SIMT_REFUSED(cuMemcpyDtoHAsync)
SIMT_REFUSED(cuLinkCreate)
SIMT_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
SIMT_REFUSED(cuTexRefSetArray)
SIMT_REFUSED(cuTexRefSetAddress)
#undef SIMT_REFUSED

#define SIMT_REFUSED_TYPE(name)                                                     \
  struct [[gnu::unavailable(                                                        \
      "make try: the driver interface does not run on a CPU here; use the runtime " \
      "interface")]] name{};
#if __has_cpp_attribute(gnu::unavailable)
SIMT_REFUSED_TYPE(CUctxCreateParams)
SIMT_REFUSED_TYPE(CUmemAllocationProp)
SIMT_REFUSED_TYPE(CUmemGenericAllocationHandle)
SIMT_REFUSED_TYPE(CUmemAccessDesc)
SIMT_REFUSED_TYPE(CUlinkState)
SIMT_REFUSED_TYPE(CUarray)
SIMT_REFUSED_TYPE(CUtexref)
#endif
#undef SIMT_REFUSED_TYPE
