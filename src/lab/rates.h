// Rates and ratios of a run, each defined once for all output formats.
#pragma once

#include <optional>

#include "lab/run.h"
#include "model/ceiling.h"
#include "model/stage.h"

namespace lab {

// 2MNK floating-point operations divided by the median time, in 1e12 per second. Nothing without a
// time.
std::optional<double> tflops(const Run& run, const Row& row);

// Speed relative to cuBLAS fp32 in the same run: 1 is equal.
std::optional<double> cublas_ratio(const Run& run, const Row& row);

// Speed relative to the previous stage, if both have a time.
std::optional<double> times_the_stage_before(const Run& run, const Row& row);

// The compiler's record of the kernel that ran, for the run's GPU or the nearest older one.
std::optional<model::CompiledKernel> compiled_loop(const Run& run, const Row& row);

// Ceilings on the run's GPU, from the trace alone and with the compiler's instructions. Nothing if
// nothing is multiplied, nothing was traced, no block fits, or the GPU has no clock. The second
// also needs a record.
std::optional<model::Ceiling> written_ceiling(const Run& run, const Row& row);
std::optional<model::Ceiling> compiled_ceiling(const Run& run, const Row& row);

// The same kernel if its blocks also wait. Needs the compiled ceiling and an occupancy.
std::optional<model::Waiting> with_waiting(const Run& run, const Row& row);

// Measured speed divided by compiled_ceiling() for the run's size: the part of the time in which
// the ceiling's unit is busy.
std::optional<double> ceiling_ratio(const Run& run, const Row& row);

// What limits a timed kernel: a unit, if one is busy most of the time. Otherwise warps mostly wait
// for results: latency, which no ceiling can see.
struct BoundBy {
  bool latency;           // the busiest unit is busy less than kBusy percent of the time
  model::UnitIndex unit;  // the busiest unit, which sets the ceiling
  int percent;            // of the time in which it is busy
};
inline constexpr int kBusy = 80;
std::optional<BoundBy> bound_by(const Run& run, const Row& row);

// The product as the kernels see it: if alpha is 0, K is 0.
model::Product product_of(const Run& run);

// The number of elements of C that a thread of an interior block computes.
double results_per_thread(const model::Variant& variant);

// How the tiles of C are shared out on the run's GPU.
model::ShareOut shares(const Run& run, const model::Variant& variant);

// The launch has x times y blocks: ceil(N/BN) times ceil(M/BM), or one row of them where the kernel
// orders the tiles itself or cuts some.
struct Grid {
  long long x;
  long long y;
};
Grid grid(const Run& run, const model::Variant& variant);

// The computation in numbers: "C (M x N) = alpha * A (M x K) * B (K x N) + beta * C".
std::string product(const Run& run);

// The name of the kernel that ran, in C++ syntax.
const char* kernel_name(const Row& row);

// Sectors or wavefronts per request; 0 if there was no request.
double pieces_per_request(const model::Traffic& traffic);

// Bank conflicts per request to shared memory, loads and stores together.
double conflicts_per_request(const model::Counts& counts);

// Whether the counts cover every block, and so are totals of the launch.
bool is_total(const model::Counts& counts);

}  // namespace lab
