// make time EX=15: the time of an answer's kernel on this machine's GPU. Linked with the answer as
// nvcc compiles it. make grade checks the result.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "lab/gpu/gpu.h"
#include "model/refusal.h"
#include "school/grade/shape.h"
#include "show/report/words.h"

// The answer's.
void run(Shape shape, const float* A, const float* B, float* C);

int main() {
  constexpr int kSize = 4096;  // M, N and K
  constexpr std::size_t kFloats = std::size_t{kSize} * kSize;
  try {
    const gpu::Search& search = gpu::find();
    if (!search.found) throw model::Refusal("the time needs a GPU: " + search.why_not);
    gpu::Matrix A(kFloats), B(kFloats), C(kFloats);
    std::vector<float> values(kFloats);
    std::mt19937 random(1);
    for (gpu::Matrix* matrix : {&A, &B}) {
      for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
      matrix->upload(values.data());
    }
    const gpu::Times measured = gpu::time_ms(0, [&] {
      run({kSize, kSize, kSize}, A.data(), B.data(), C.data());
    });
    gpu::synchronize();
    std::vector<double> times = measured.ms;
    std::sort(times.begin(), times.end());
    const double median_ms = times[times.size() / 2];
    std::printf(
        "%.3f ms, %.2f TFLOP/s at %d^3 on %s: the median of %zu runs, %.3f to %.3f ms\n", median_ms,
        2.0 * kSize * kSize * kSize / median_ms * 1e-9, kSize, search.found->name.c_str(),
        times.size(), times.front(), times.back());
    if (measured.state) std::printf("%s\n", report::clocks_words(*measured.state).c_str());
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "time: %s\n", refusal.what());
    return 2;
  }
}
