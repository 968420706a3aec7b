// The functions of the CUDA samples' helper_cuda.h, for builds without the samples: error checks,
// and the choice of a GPU.
#pragma once
#define COMMON_HELPER_CUDA_H_

#include <cstdio>
#include <cstdlib>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#if __has_include(<helper_string.h>)
#include <helper_string.h>
#else
#include "simulator/cuda/headers/helper_string.h"
#endif

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef MAX
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#endif

inline const char* _cudaGetErrorEnum(cudaError_t error) {
  return cudaGetErrorName(error);
}

// The libraries' headers have a _cudaGetErrorEnum for their own results.
template <class Result>
void check(Result result, const char* call, const char* file, int line) {
  if (static_cast<unsigned>(result) == 0) return;
  std::fprintf(
      stderr, "%s:%d: %s returned %u (%s)\n", file, line, call, static_cast<unsigned>(result),
      _cudaGetErrorEnum(result));
  std::exit(EXIT_FAILURE);
}
#define checkCudaErrors(call) check((call), #call, __FILE__, __LINE__)

// Returns whether there is one.
inline bool __printLastCudaError(const char* message, const char* file, int line) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return false;
  std::fprintf(
      stderr, "%s:%d: %s: %s (%s)\n", file, line, message, cudaGetErrorString(error),
      cudaGetErrorName(error));
  return true;
}
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)

inline void __getLastCudaError(const char* message, const char* file, int line) {
  if (__printLastCudaError(message, file, line)) std::exit(EXIT_FAILURE);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)

// FP32 lanes of an SM (the CUDA programming guide's table of arithmetic throughput).
inline int _ConvertSMVer2Cores(int major, int minor) {
  switch (major * 10 + minor) {
    case 60:
    case 70:
    case 72:
    case 75:
    case 80:
      return 64;
    default:
      return 128;
  }
}

inline const char* _ConvertSMVer2ArchName(int major, int minor) {
  if (major >= 10) return "Blackwell";
  if (major == 9) return "Hopper";
  if (major == 8) return minor == 9 ? "Ada" : "Ampere";
  if (major == 7) return minor == 5 ? "Turing" : "Volta";
  return major == 6 ? "Pascal" : "Maxwell";
}

inline int gpuDeviceInit(int device) {
  checkCudaErrors(cudaSetDevice(device < 0 ? 0 : device));
  return device < 0 ? 0 : device;
}

inline int gpuGetMaxGflopsDeviceId() {
  return 0;
}

inline int findCudaDevice(int argc, const char** argv) {
  const bool chosen = checkCmdLineFlag(argc, argv, "device");
  const int device = gpuDeviceInit(chosen ? getCmdLineArgumentInt(argc, argv, "device") : 0);
  cudaDeviceProp properties;
  checkCudaErrors(cudaGetDeviceProperties(&properties, device));
  std::printf(
      "GPU device %d: \"%s\" with compute capability %d.%d\n\n", device, properties.name,
      properties.major, properties.minor);
  return device;
}

inline bool checkCudaCapabilities(int major, int minor) {
  cudaDeviceProp properties;
  checkCudaErrors(cudaGetDeviceProperties(&properties, 0));
  return properties.major * 10 + properties.minor >= major * 10 + minor;
}
