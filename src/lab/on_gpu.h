// A problem in the GPU's memory.
#pragma once

#include "gpu/gpu.h"
#include "lab/measurement.h"
#include "lab/problem.h"

namespace lab {

class OnGpu {
 public:
  explicit OnGpu(const Problem& problem);  // which must outlive it

  // Computes the product from the old C into `result`.
  void compute(const Gemm& gemm, Floats& result);

  // Times the product; how often, as gpu::time_ms() says. C is what is there.
  Timing time(const Gemm& gemm, int repetitions);

 private:
  void launch(const Gemm& gemm);

  const Problem& p_;
  gpu::Matrix A_, B_, C_;
};

}  // namespace lab
