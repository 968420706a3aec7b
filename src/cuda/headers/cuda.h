// Names of CUDA's driver interface, for builds without the toolkit. Files include it for its
// version and types; its functions do not run on a CPU here.
#pragma once

#include <cstdint>

#include "cuda/headers/cuda_runtime_api.h"
#include "cuda/tensor_map.h"

#define CUDA_VERSION CUDART_VERSION
#define CUDAAPI

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2 };
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = cudaStream_t;
using CUevent = cudaEvent_t;

#define SIMT_REFUSED(function)                                                                \
  template <class... Arguments>                                                               \
  [[gnu::error("make try: " #function " is of the driver interface, which does not run on a " \
               "CPU here; use the runtime interface")]] CUresult                              \
  function(const Arguments&...);
SIMT_REFUSED(cuInit)
SIMT_REFUSED(cuDeviceGet)
SIMT_REFUSED(cuDeviceGetCount)
SIMT_REFUSED(cuDeviceGetName)
SIMT_REFUSED(cuDeviceGetAttribute)
SIMT_REFUSED(cuDeviceTotalMem)
SIMT_REFUSED(cuDevicePrimaryCtxRetain)
SIMT_REFUSED(cuDevicePrimaryCtxRelease)
SIMT_REFUSED(cuDriverGetVersion)
SIMT_REFUSED(cuCtxCreate)
SIMT_REFUSED(cuCtxDestroy)
SIMT_REFUSED(cuCtxSetCurrent)
SIMT_REFUSED(cuCtxGetCurrent)
SIMT_REFUSED(cuCtxSynchronize)
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
SIMT_REFUSED(cuGetErrorString)
SIMT_REFUSED(cuGetErrorName)
SIMT_REFUSED(cuGetProcAddress)
SIMT_REFUSED(cuTensorMapEncodeTiled)
#undef SIMT_REFUSED
