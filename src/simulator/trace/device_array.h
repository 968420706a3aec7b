// Arrays for kernels of tests that run on a GPU and on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

// An array on the device with a copy on the host.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : host(count) { cudaMalloc(&device, count * sizeof(T)); }
  explicit Array(std::vector<T> values) : Array(values.size()) {
    host = std::move(values);
    cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(device); }
  std::vector<T>& fetch() {
    cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost);
    return host;
  }

  T* device = nullptr;
  std::vector<T> host;
};

[[maybe_unused]] std::string error_of_launch() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace
