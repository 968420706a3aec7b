// Figures that follow from a run: rates and ratios, each in one place for every way of printing.
#pragma once

#include <optional>

#include "lab/run.h"
#include "model/ceiling.h"

namespace lab {

// 2MNK floating-point operations over the median time, in 1e12 a second. None without a time.
std::optional<double> tflops(const Run& run, const Row& row);

// Speed over that of cuBLAS fp32 in the same run: 1 is as fast.
std::optional<double> cublas_ratio(const Run& run, const Row& row);

// Speed over that of the stage before, where both have a time.
std::optional<double> times_the_stage_before(const Run& run, const Row& row);

// What the compiler made of the kernel that ran, for the run's GPU or the nearest one before it.
std::optional<model::CompiledKernel> compiled_loop(const Run& run, const Row& row);

// Bounds on the run's GPU, from the trace alone and with the compiler's instructions. None where
// nothing is multiplied, nothing was traced, or no block fits; the second also without a record.
std::optional<model::Ceiling> written_ceiling(const Run& run, const Row& row);
std::optional<model::Ceiling> compiled_ceiling(const Run& run, const Row& row);

// Measured speed over that of compiled_ceiling(), which is that of the run's size: the part of the
// time in which the ceiling's unit is busy.
std::optional<double> ceiling_ratio(const Run& run, const Row& row);

// What keeps a kernel that was timed from being faster. A unit that is busy most of the time does.
// Where none is, warps mostly wait for results: latency, which no ceiling can see.
struct BoundBy {
  bool latency;           // the busiest unit is busy less than kBusy percent of the time
  model::UnitIndex unit;  // the busiest: the ceiling's
  int percent;            // of the time that it is busy
};
inline constexpr int kBusy = 80;
std::optional<BoundBy> bound_by(const Run& run, const Row& row);

// The product as the kernels see it: where alpha is 0, K is.
model::Product product_of(const Run& run);

// Elements of C that a thread of an interior block computes.
double results_per_thread(const model::Variant& variant);

// ceil(N/BN) by ceil(M/BM) blocks.
struct Grid {
  long long x;
  long long y;
};
Grid grid(const Run& run, const model::Variant& variant);

// What is computed: "C (M x N) = alpha * A (M x K) * B (K x N) + beta * C", in numbers.
std::string product(const Run& run);

// The kernel that ran, as C++ spells it.
const char* kernel_name(const Row& row);

// Sectors or wavefronts a request; 0 where there was no request.
double pieces_per_request(const model::Traffic& traffic);

// Bank conflicts a request to shared memory, loads and stores together.
double conflicts_per_request(const model::Counts& counts);

// Whether the counts are of every block, and so totals of the launch.
bool is_total(const model::Counts& counts);

}  // namespace lab
