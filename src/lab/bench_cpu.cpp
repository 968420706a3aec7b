// make bench-cpu: the steps from the serial loop to openmp_gemm on this CPU, one idea at a time.
// Each row is the row above with one more idea. The whole serial loop would take minutes, so the
// first rows compute only a few rows of C.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "text/numbers.h"

namespace {

constexpr int kSize = 4096;
using Matrix = lab::Floats;

Matrix transposed(const Matrix& B) {
  Matrix result(std::size_t{kSize} * kSize);
  for (int k = 0; k < kSize; ++k) {
    for (int j = 0; j < kSize; ++j)
      result[std::size_t(j) * kSize + k] = B[std::size_t(k) * kSize + j];
  }
  return result;
}

// The serial loop over the first rows of C, with B transposed: both operands are read in order.
void by_rows(int rows, const float* A, const float* B_transposed, float* C) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < kSize; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < kSize; ++k)
        sum += A[i * kSize + k] * B_transposed[j * kSize + k];
      C[i * kSize + j] = sum;
    }
  }
}

// The same with independent sums, which the compiler keeps in the lanes of vector registers.
void vectorized(int rows, const float* A, const float* B_transposed, float* C) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < kSize; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < kSize; ++k)
        sum += A[i * kSize + k] * B_transposed[j * kSize + k];
      C[i * kSize + j] = sum;
    }
  }
}

// The same on all cores.
void threaded(int rows, const float* A, const float* B_transposed, float* C) {
#pragma omp parallel for
  for (int i = 0; i < rows; ++i) {
    vectorized(1, A + std::int64_t{i} * kSize, B_transposed, C + std::int64_t{i} * kSize);
  }
}

// The median of five runs, in GFLOP/s.
double speed(int rows, const std::function<void()>& multiply) {
  std::vector<double> seconds;
  for (int run = 0; run < 5; ++run) {
    const auto start = std::chrono::steady_clock::now();
    multiply();
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return 2.0 * rows * kSize * kSize / seconds[2] / 1e9;
}

}  // namespace

int main() {
  constexpr std::size_t kElements = std::size_t{kSize} * kSize;
  const Matrix A = lab::random_floats(kElements, 1), B = lab::random_floats(kElements, 2);
  const Matrix B_transposed = transposed(B);
  Matrix C(kElements);
  const int cores = omp_get_max_threads();

  struct TimedWay {
    const char* name;
    int rows;  // computed rows of C
    std::function<void(int rows)> multiply;
  };
  const TimedWay rows[] = {
      {"serial loop", 4,
       [&](int n) { serial_gemm(n, kSize, kSize, 1, A.data(), B.data(), 0, C.data()); }},
      {"B transposed", 16, [&](int n) { by_rows(n, A.data(), B_transposed.data(), C.data()); }},
      {"vectors of independent sums", 64,
       [&](int n) { vectorized(n, A.data(), B_transposed.data(), C.data()); }},
      {"all cores", 64 * cores,
       [&](int n) { threaded(n, A.data(), B_transposed.data(), C.data()); }},
      {"blocked and packed: openmp_gemm", kSize,
       [&](int n) { openmp_gemm(n, kSize, kSize, 1, A.data(), B.data(), 0, C.data()); }}};
  std::printf(
      "problem  C (%d x %d) = A * B with K = %d, fp32, %d threads\n", kSize, kSize, kSize, cores);
  std::printf("CPU      %s\n", lab::cpu_name().c_str());
  std::printf("run      %s, make bench-cpu\n\n", text::now_utc().c_str());
  std::printf("%-34s %10s %16s\n", "", "GFLOP/s", "x the row above");
  double before = 0;
  for (const TimedWay& row : rows) {
    const int n = std::min(row.rows, kSize);
    const double now = speed(n, [&] { row.multiply(n); });
    std::printf("%-34s %10s", row.name, text::significant(now).c_str());
    if (before > 0) std::printf(" %16s", text::significant(now / before).c_str());
    std::printf("\n");
    before = now;
  }
}
