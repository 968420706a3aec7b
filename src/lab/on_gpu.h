// A problem in the GPU's memory.
#pragma once

#include "gpu/gpu.h"
#include "lab/measurement.h"
#include "lab/problem.h"

namespace lab {

class OnGpu {
 public:
  explicit OnGpu(const Problem& problem);  // must outlive this object

  // Computes the product with the old C into `result`.
  void compute(const Gemm& gemm, Floats& result);

  // Times the product, as often as gpu::time_ms() says. C is whatever the previous call left.
  Timing time(const Gemm& gemm, int repetitions);

 private:
  void launch(const Gemm& gemm);

  const Problem& p_;
  gpu::Matrix A_, B_, C_;
};

}  // namespace lab
