// make bench-tracer: what it costs to trace each stage in full at 256^3.
#include <chrono>
#include <cstdio>

#include "lab/matrices.h"
#include "lab/stage_tables.h"
#include "trace/trace.h"

int main() {
  constexpr int kSize = 256;
  constexpr std::size_t kElements = kSize * kSize;
  const lab::Floats A = lab::random_floats(kElements, 1), B = lab::random_floats(kElements, 2);
  lab::Floats C(kElements);
  const machine::GlobalArray arrays[] = {
      {"A", A.data(), kElements * sizeof(float)},
      {"B", B.data(), kElements * sizeof(float)},
      {"C", C.data(), kElements * sizeof(float)}};
  const model::Gpu& gpu = *model::find_gpu("H200");
  std::printf(
      "stage                    accesses   seconds   ns per access   (every block, 256^3)\n");
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty()) continue;
    const auto start = std::chrono::steady_clock::now();
    const model::Counts counts = trace::trace({&gpu}, arrays, [&] {
      stage_table_traced.run(
          stage.variants.front(), kSize, kSize, kSize, 1, A.data(), B.data(), 0, C.data());
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const auto accesses = counts.gmem_loads.accesses.sum + counts.gmem_stores.accesses.sum +
                          counts.smem_loads.accesses.sum + counts.smem_stores.accesses.sum;
    std::printf(
        "%2d %-20s %9lld   %7.3f   %13.1f\n", stage.number, stage.name,
        static_cast<long long>(accesses), seconds.count(), 1e9 * seconds.count() / accesses);
  }
}
