#include "lab/on_gpu.h"

namespace lab {

OnGpu::OnGpu(const Problem& problem)
    : p_(problem), A_(problem.A.size()), B_(problem.B.size()), C_(problem.C.size()) {
  A_.upload(p_.A.data());
  B_.upload(p_.B.data());
}

void OnGpu::launch(const Gemm& gemm) {
  gemm(
      p_.M, p_.N, p_.K, p_.alpha, A_.data() + p_.lead, B_.data() + p_.lead, p_.beta,
      C_.data() + p_.lead);
}

void OnGpu::compute(const Gemm& gemm, Floats& result) {
  C_.upload(p_.C.data());
  launch(gemm);
  gpu::synchronize();
  result = p_.C;
  C_.download(result.data());
}

Timing OnGpu::time(const Gemm& gemm, int repetitions) {
  const gpu::Times times = gpu::time_ms(repetitions, [&] { launch(gemm); });
  Timing timing = summary(times.ms);
  timing.busy_before_ms = times.busy_before_ms;
  timing.device = times.state;
  return timing;
}

}  // namespace lab
