// The few functions of the driver interface that programs mix with the runtime's.
#include <algorithm>
#include <cstdio>

#include "cuda/headers/cuda.h"
#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/gpu.h"
#include "machine/device_memory.h"

namespace {

constexpr const char* kOneGpu = "there is one GPU here, with the number 0";

CUresult check(const host::Call& call, const void* result, int device) {
  if (result == nullptr) {
    call.note("there is no result");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (device != 0) {
    call.note(kOneGpu);
    return CUDA_ERROR_INVALID_DEVICE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuInit(unsigned) {
  const host::Call call;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  const host::Call call;
  const CUresult result = check(call, version, 0);
  if (result == CUDA_SUCCESS) *version = CUDA_VERSION;
  return result;
}

CUresult cuDeviceGetCount(int* count) {
  const host::Call call;
  const CUresult result = check(call, count, 0);
  if (result == CUDA_SUCCESS) *count = 1;
  return result;
}

CUresult cuDeviceGet(CUdevice* device, int number) {
  const host::Call call;
  const CUresult result = check(call, device, number);
  if (result == CUDA_SUCCESS) *device = 0;
  return result;
}

CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  const host::Call call;
  const CUresult result = check(call, name, device);
  if (result == CUDA_SUCCESS) {
    std::snprintf(name, std::max(bytes, 0), "NVIDIA %s", host::gpu().name.c_str());
  }
  return result;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  const host::Call call;
  const CUresult result = check(call, value, device);
  if (result != CUDA_SUCCESS) return result;
  *value = 0;
  if (attribute >= CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED) return result;
  const cudaError_t error =
      cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice device) {
  const host::Call call;
  const CUresult result = check(call, bytes, device);
  std::size_t free = 0;
  if (result == CUDA_SUCCESS) cudaMemGetInfo(&free, bytes);
  return result;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const host::Call call;
  const CUresult result = check(call, device, 0);
  if (result == CUDA_SUCCESS) *device = 0;
  return result;
}

CUresult cuCtxSynchronize() {
  const host::Call call;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char** name) {
  const host::Call call;
  *name = result == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char** words) {
  const host::Call call;
  *words = result == CUDA_SUCCESS ? "no error" : "an error of the driver interface";
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  const host::Call call;
  const auto array = machine::array_at(reinterpret_cast<const void*>(address));
  if (!array) {
    if (bytes != nullptr) *bytes = 0;  // few programs check the result
    call.note("the address is in no array of the GPU");
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (base != nullptr) *base = reinterpret_cast<CUdeviceptr>(array->data);
  if (bytes != nullptr) *bytes = array->bytes;
  return CUDA_SUCCESS;
}
