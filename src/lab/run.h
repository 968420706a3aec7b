// A run of the program as data: the measurements, with a row for each kernel or reference, and what
// follows from them; and the bar that shows how far a run is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lab/request.h"
#include "model/ceiling.h"
#include "model/compiled_kernel.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "model/warp_access.h"
#include "simulator/simulator.h"

namespace lab {

struct Timing {
  double median_ms;
  double min_ms;
  double max_ms;
  double quartile1_ms, quartile3_ms;  // half of the times lie between them
  int repetitions;
  bool partial = false;  // scaled up from the first rows (the serial loop at large sizes)

  // On a GPU: how long it had worked for this program before, without a pause of more than a
  // second, and its sensors during the measurement, if they could be read.
  std::optional<double> busy_before_ms = {};
  std::optional<model::DeviceState> device = {};
};

// The wall-clock time that it takes on the CPU.
double milliseconds_of(const std::function<void()>& work);

// Requires at least one time.
Timing summary(std::vector<double> times_ms);

// How a kernel that is not a stage was launched first.
struct LaunchShape : machine::RequestedLaunch {
  int launches = 1;  // for this kernel
};

// A user's loads from shared memory as nvcc made them, or why that is not known.
struct SharedLoads {
  std::string architecture;  // "sm_86"
  std::optional<model::CompiledLoads> compiled;
  std::string why_unknown;  // a sentence; empty: they are known
};

// The results for a kernel on a problem: counts, hazards, time and error.
struct Measurement {
  std::optional<LaunchShape> launch;    // for a kernel that is not a stage
  bool aligned = true;                  // Variant::kernel ran; else Variant::kernel_any
  std::optional<model::Counts> counts;  // with the hazards; empty: not traced
  std::optional<model::Occupancy> occupancy;
  std::optional<Timing> time;          // empty: traced only
  std::optional<model::Error> error;   // against the fp64 CPU reference
  std::optional<double> cublas_error;  // relative (Frobenius), against cuBLAS fp32
  std::optional<Timing> preparation;   // the part of `time` before the kernel
  int stood_in = 0;                    // which stand-in computed C (model::that_ran)
  bool unfit_data = false;             // C is not checked: the stage is not for this A and B

  // The source text to which counts->lines refers, and the first and last line of the kernel in it
  // (from 1); 0 if unknown.
  std::string source, source_file;
  int source_first = 0, source_last = 0;

  std::optional<SharedLoads> shared_loads;  // empty: not a user's file
};

// The later stage in which the row's costliest request costs less (lab/measure.h).
struct Remedy {
  int stage = -1;  // -1: no later stage improves it
  std::string name;
  model::LineCounts line;  // in that stage's own source
};

// One row of the table: a stage, the OpenMP CPU reference, or cuBLAS.
struct Row : Measurement {
  int number = -1;         // -1: not a stage
  int before_number = -1;  // the previous stage, or a contrast's own; -1: none
  std::string name = {};
  const model::Stage* stage = nullptr;  // null: not a stage, or stage 0
  const model::Variant* variant = nullptr;

  std::string why_not_run = {};       // what the GPU lacks (model/stage.h); empty: it lacks nothing
  std::optional<Remedy> remedy = {};  // empty: not searched for, or nothing to improve
  // The lines of the previous stage's kernel in the same text; 0 if there is none.
  std::string before_name = {}, before_kernel = {};
  int before_first = 0, before_last = 0;
};

struct Run {
  int M, N, K;
  float alpha, beta;
  unsigned long long seed;
  model::Gpu gpu;       // the GPU for which occupancy is computed
  bool gpu_present;     // kernels ran on it and were timed
  std::string driver;   // driver and runtime versions, empty without a GPU
  std::string command;  // as typed
  std::string date;     // ISO 8601, UTC
  std::vector<Row> rows;
  // The file of a whole program, which ran by itself and ended with that code; empty: a product.
  std::string program = {};
  int exit_code = 0;
  bool stopped = false;  // by an error of a kernel, before its end
  Data data = Data::uniform;
  bool unended = false;        // it has not ended; the rows are what is known until now
  std::string types = "fp32";  // of A, B and C
  std::string cpu = "";        // its name, empty if it is not known
  int threads = 0;             // of the rows that run on it
  // The product whose results were computed and checked, and which the CPU's rows are timed on, if
  // it is not M x N x K; for that, the kernels are only counted (lab::LongProduct).
  std::optional<ProblemSize> checked = {};

  const Row* cublas() const;  // the cuBLAS fp32 row; null if there is none
};

// A new run, without sizes and rows. Throws a Refusal for an unknown GPU.
Run new_run(const Request& request, bool gpu_present, const std::string& command);

std::string joined(int argc, char** argv);  // the command as typed

// Rates and ratios of a run, each defined once for all output formats.

// 2MNK floating-point operations divided by the median time, in 1e12 per second. Nothing without a
// time.
std::optional<double> tflops(const Run& run, const Row& row);

// Ceilings on the run's GPU, from the trace alone and with the compiler's instructions. Nothing if
// nothing is multiplied, nothing was traced, no block fits, or the GPU has no clock.
struct Ceilings {
  // The compiler's, of the kernel that ran, for the run's GPU or the nearest older one.
  std::optional<model::CompiledKernel> record;
  std::optional<model::Ceiling> written;
  std::optional<model::Ceiling> compiled;  // needs the record
  std::optional<model::Waiting> waiting;   // if blocks also wait: needs an occupancy, too
};
Ceilings ceilings(const Run& run, const Row& row);

// The number of blocks of `kernel` that an SM of the run's GPU holds. It uses the register count
// from the compiler if that GPU is present, else the recorded one; nothing if there is no record.
std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel);

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

// Whether the counts cover every block, and so are totals of the launch.
bool is_total(const model::Counts& counts);

inline constexpr double kWasteful = 1.05;  // more than a ragged edge explains

// The line that wastes most. Null if no line wastes more than a ragged edge explains, and if that
// line is a box of the copy engine.
const model::LineCounts* worst_line(const Row& row);

// The line of `row` with the same access to the same array, possibly as a cp.async. If there are
// several, the worst one. Null if there is none.
const model::LineCounts* same_request(const Row& row, const model::LineCounts& line);

// The same counts, summed by array: `line` is 0.
std::vector<model::LineCounts> by_array(const model::Counts& counts);

const char* name_of(model::Direction direction);  // "load", "store" or "copy"

// Wavefronts or sectors divided by those that are neither bank conflicts nor uncoalesced; at
// least 1.
double waste(const model::LineCounts& line);

// A progress bar for work that takes seconds. Draws on stderr if that is a terminal, and does
// nothing otherwise. The bar appears after a tenth of a second and is redrawn at most ten times per
// second. The destructor erases it.
class Progress {
 public:
  Progress(std::string name, std::int64_t total);
  // Draws on `out`, whatever that is; null: nowhere.
  Progress(std::string name, std::int64_t total, std::FILE* out);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Reports that `amount` more of `total` is done. Any thread may call it.
  void advance(std::int64_t amount);
  // Reports that `done` of `total` is done.
  void reach(std::int64_t done);
  // The bar has that name from now on, and appears if it is time to draw.
  void name(std::string name);

 private:
  using Clock = std::chrono::steady_clock;

  void draw_if_due();

  const std::int64_t total_;
  std::FILE* const out_;  // null if nothing is to be drawn
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::int64_t> done_ = 0;
  std::mutex drawing_;  // guards the members below
  std::string name_;
  Clock::time_point last_drawn_ = start_;
  bool drawn_ = false;
};

}  // namespace lab
