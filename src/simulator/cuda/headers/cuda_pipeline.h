// cp.async, under its names for C and as a class.
#pragma once

#include <cuda_pipeline_primitives.h>

namespace nvcuda::experimental {

class pipeline {
 public:
  SIMT_ALWAYS_INLINE std::size_t commit() {
    __pipeline_commit();
    return stage_++;
  }
  template <unsigned in_flight>
  SIMT_ALWAYS_INLINE void wait_prior() {
    __pipeline_wait_prior(in_flight);
  }
  SIMT_ALWAYS_INLINE void wait(std::size_t stage) {
    __pipeline_wait_prior(static_cast<int>(stage_ - stage) - 1);
  }

 private:
  std::size_t stage_ = 0;
};

template <class T>
SIMT_INLINE void memcpy_async(T& to, const T& from, pipeline&) {
  simt::copy_together<alignof(T)>(&to, &from, sizeof(T), 0, 1);
}

}  // namespace nvcuda::experimental
