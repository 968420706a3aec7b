#include "bench/time_cpu.h"

#include <omp.h>

#include <algorithm>
#include <functional>

#include "cpu_reference.h"
#include "lab/cpu_name.h"
#include "lab/matrices.h"
#include "text/numbers.h"

namespace bench {

namespace {

// At least five runs, and as many as fit into half a second, after an unmeasured one, which pays
// for waking the threads and for cold caches.
lab::Timing time_of(const std::function<void()>& work) {
  constexpr std::size_t kLeast = 5, kMost = 100;
  constexpr double kHalfASecond = 500;
  work();
  std::vector<double> times_ms;
  for (double sum = 0; times_ms.size() < kLeast || (sum < kHalfASecond && times_ms.size() < kMost);
       sum += times_ms.back()) {
    times_ms.push_back(lab::milliseconds_of(work));
  }
  return lab::summary(times_ms);
}

lab::Timing scaled(lab::Timing time, double factor) {
  for (double* ms :
       {&time.median_ms, &time.min_ms, &time.max_ms, &time.quartile1_ms, &time.quartile3_ms}) {
    *ms *= factor;
  }
  return time;
}

}  // namespace

std::vector<Speed> time_cpu(int size, const OpenBlas& openblas) {
  const std::size_t elements = std::size_t(size) * size;
  const lab::Floats A = lab::random_floats(elements, 1), B = lab::random_floats(elements, 2);
  lab::Floats C(elements);
  const int threads = omp_get_max_threads();
  const std::string cpu = lab::cpu_name();
  const std::string device = (cpu.empty() ? "CPU" : cpu) +
                             text::printed(", %d thread%s", threads, threads == 1 ? "" : "s");

  constexpr double kMultiplications = 0x1p27;  // about a tenth of a second
  const double in_a_row = double(size) * size;
  const int rows =
      static_cast<int>(std::clamp(kMultiplications / in_a_row, 1.0, static_cast<double>(size)));
  const lab::Timing first_rows =
      time_of([&] { serial_gemm(rows, size, size, 1, A.data(), B.data(), 0, C.data()); });
  lab::Timing serial = scaled(first_rows, double(size) / rows);
  serial.partial = rows < size;

  std::vector<Speed> speeds{
      {size, 0, "serial", device, serial, ""},
      {size,
       {},
       "OpenMP CPU",
       device,
       time_of([&] { openmp_gemm(size, size, size, 1, A.data(), B.data(), 0, C.data()); }),
       ""},
      {size, {}, "OpenBLAS", device, {}, openblas.why_not()}};
  if (!openblas.why_not().empty()) return speeds;
  speeds.back().time =
      time_of([&] { openblas.multiply(threads, size, A.data(), B.data(), C.data()); });
  if (const std::string kernels = openblas.kernels(); !kernels.empty()) {
    speeds.back().note = kernels + " kernels";
  }
  return speeds;
}

}  // namespace bench
