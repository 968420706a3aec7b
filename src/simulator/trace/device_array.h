// Arrays for kernels of tests that run on a GPU and on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "simulator/cuda/launch.h"

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

// The first word whose bits differ, named by `name(i)`.
template <class T, class Name>
std::string difference(const std::vector<T>& found, const std::vector<T>& expected, Name name) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    unsigned long long is = 0, should = 0;
    std::memcpy(&is, &found[i], sizeof(T));
    std::memcpy(&should, &expected[i], sizeof(T));
    if (is == should) continue;
    char text[200];
    std::snprintf(
        text, sizeof text, "%s: word %zu is %llx (%.9g) and should be %llx (%.9g)", name(i).c_str(),
        i, is, static_cast<double>(found[i]), should, static_cast<double>(expected[i]));
    return text;
  }
  return "";
}

// The same of what a kernel stores to its last argument; or the error of its launch.
template <class Kernel, class T, class... In>
std::string wrong_in(
    Kernel kernel, dim3 grid, dim3 block, int shared_bytes, const std::vector<T>& expected,
    const In&... in) {
  Array<T> out(expected.size());
  launch(kernel, grid, block, shared_bytes, in..., out.device);
  if (std::string error = error_of_launch(); !error.empty()) return error;
  return difference(out.fetch(), expected, [](std::size_t) { return std::string("there"); });
}

}  // namespace
