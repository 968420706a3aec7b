// The two vectors of Thrust, by which programs fill the GPU's memory, without the rest of Thrust. A
// real Thrust in a folder of -I is found first.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "simulator/cuda/headers/cuda_runtime.h"

namespace thrust {

template <class T>
class device_ptr {
 public:
  explicit device_ptr(T* at = nullptr) : at_(at) {}
  T* get() const { return at_; }

 private:
  T* at_;
};
template <class T>
T* raw_pointer_cast(device_ptr<T> pointer) {
  return pointer.get();
}
template <class T>
T* raw_pointer_cast(T* pointer) {
  return pointer;
}

template <class T>
class device_vector;

template <class T>
class host_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  host_vector(const device_vector<T>& from) : std::vector<T>(from.size()) {
    cudaMemcpy(this->data(), from.data().get(), from.size() * sizeof(T), cudaMemcpyDeviceToHost);
  }
};

template <class T>
class device_vector {
 public:
  device_vector() = default;
  explicit device_vector(std::size_t size, const T& value = T())
      : device_vector(host_vector<T>(size, value)) {}
  device_vector(const host_vector<T>& from) : size_(from.size()) {
    cudaMalloc(&data_, size_ * sizeof(T));
    cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
  }
  device_vector(const device_vector& other) : device_vector(host_vector<T>(other)) {}
  device_vector& operator=(device_vector other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~device_vector() { cudaFree(data_); }
  std::size_t size() const { return size_; }
  device_ptr<T> data() { return device_ptr<T>(data_); }
  device_ptr<const T> data() const { return device_ptr<const T>(data_); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thrust
