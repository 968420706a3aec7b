// Traces the transpose of sample_kernel.cu, and prints what its loads and stores cost.
#include <cstdio>
#include <vector>

#include "simulator/simulator.h"

void launch_transpose(const float* in, float* out, int n);

int main() {
  constexpr int n = 100;
  const std::vector<float> in(n * n, 1);
  std::vector<float> out(n * n);
  const machine::GlobalArray arrays[] = {
      {"in", in.data(), n * n * sizeof(float)},
      {.name = "out", .data = out.data(), .bytes = n * n * sizeof(float), .result = true}};
  const model::Counts counts = trace::trace(
      {model::find_gpu("H200")}, arrays, [&] { launch_transpose(in.data(), out.data(), n); });
  for (const auto& [what, traffic] :
       {std::pair{"loads", &counts.gmem_loads}, {"stores", &counts.gmem_stores}}) {
    std::printf(
        "%-6s %lld requests, %lld sectors\n", what, static_cast<long long>(traffic->requests),
        static_cast<long long>(traffic->pieces));
  }
  std::printf("%zu hazards\n", counts.hazards.size());
  return out[n - 1] == 1 ? 0 : 1;
}
