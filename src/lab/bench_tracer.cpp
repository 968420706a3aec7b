// make bench-tracer: measures the cost of tracing each stage completely at 256^3.
#include <chrono>
#include <cstdio>

#include "lab/measure.h"
#include "lab/problem.h"

int main() {
  constexpr int kSize = 256;
  const lab::Problem p = lab::random_problem({kSize, kSize, kSize}, 1, 0, 1);
  const lab::Means means{{model::find_gpu("H200")}};
  std::printf(
      "stage                    accesses   seconds   ns per access   (every block, 256^3)\n");
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty()) continue;
    lab::Floats C;
    const auto start = std::chrono::steady_clock::now();
    const model::Counts counts =
        lab::measure(p, {.traced = lab::gemm_of(stage_table_traced, stage.variants[0])}, means, C)
            .counts.value();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const auto accesses = counts.gmem_loads.accesses.sum + counts.gmem_stores.accesses.sum +
                          counts.smem_loads.accesses.sum + counts.smem_stores.accesses.sum;
    std::printf(
        "%2d %-20s %9lld   %7.3f   %13.1f\n", stage.number, stage.name,
        static_cast<long long>(accesses), seconds.count(), 1e9 * seconds.count() / accesses);
  }
}
