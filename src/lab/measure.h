// One measurement: a problem and a kernel in; counts, hazards, time and error out.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lab/gpu/gpu.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/error.h"
#include "simulator/machine/grid.h"

namespace lab {

// A problem in the GPU's memory.
class OnGpu {
 public:
  explicit OnGpu(const Problem& problem);  // must outlive this object

  // Computes the product with the old C into `result`.
  void compute(const Gemm& gemm, Floats& result);

  // Times the product, as often as gpu::time_ms() says. C is whatever the previous call left.
  Timing time(const Gemm& gemm, int repetitions);

 private:
  void launch(const Gemm& gemm);

  const Problem& p_;
  gpu::Matrix A_, B_, C_;
};

// The correct result, and the error of a computed one.

// What model/error.h compares with, M x N. The magnitudes are those of the first `terms` products
// of each element, which is a lower bound: it makes the check stricter and takes much less time.
// When a result fails, the other products are added, so that no result fails for this reason. If
// the code that computed it has overwritten A or B since, they are not, and it fails.
struct Reference {
  std::vector<double> exact;
  mutable std::vector<double> magnitude;
  mutable int terms = 0;
  std::uint64_t factors = 0;  // a fingerprint of A and B
  double largest = 0;         // magnitude in A and B; infinite, also if there is a NaN
};

Reference compute_reference(const Problem& p);

// Compares the first `rows` rows of a computed C with the reference.
model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision = model::kFp32);

// Compares only the elements that have changed, and computes their reference values.
model::Error compare_written(const Problem& p, const Floats& result, model::Precision precision);

// The compiled copies of a kernel. Empty ones are not run.
struct Kernel {
  Gemm traced = {};  // for the CPU, with the tracer's hooks
  Gemm plain = {};   // for the CPU, without hooks: for the blocks that are not traced
  Gemm gpu = {};
  Gemm gpu_again = {};  // the same with the same A and B as before: this is timed. Empty: `gpu` is
  Gemm gpu_prepare = {};  // only what comes before the kernel: this is timed, too
  model::Precision precision = model::kFp32;
  // If others can stand in: which one did in the last run (model::that_ran), and their precisions.
  const int* stood_in = nullptr;
  std::vector<model::Precision> of_stand_ins = {};
  // The blocks to trace, if blocks hand data to one another or compute several tiles; the plain
  // copy then runs all blocks. Empty: machine/grid.h's choice; the plain copy runs the
  // others.
  machine::SampleOf sample = {};
};

// The blocks to trace of what the variant launches on a GPU with `sms` SMs. Empty if
// each block computes a tile.
machine::SampleOf sample_of(const Problem& p, const model::Variant& variant, int sms);

// What a measurement uses.
struct Means {
  machine::Machine machine{nullptr, machine::Blocks::kSample};  // for `traced`, which needs a GPU
  OnGpu* on_gpu = nullptr;                                      // null: not timed
  int repetitions = 0;                                          // for gpu::time_ms()
  const Reference* reference = nullptr;                         // null: the result is not compared
  const Floats* cublas = nullptr;  // cuBLAS's fp32 result; null or empty: not compared with it
};

// Traces the kernel if it has a traced copy. The rest of C, or all of it, is computed and timed on
// the GPU, or else by the plain copy. `result` receives what was computed, and is compared if that
// is all of C. After a fatal hazard the kernel does not run further and has no result.
Measurement measure(const Problem& p, const Kernel& kernel, const Means& means, Floats& result);

// The same for a CPU function. Computes as many rows of C as this number of multiplications allows,
// at least one, and scales the time up to all rows.
Measurement measure_on_cpu(
    const Problem& p, const Gemm& gemm, double multiplications, const Means& means, Floats& result);

// Counts what a kernel does along K, in blocks with `turns` tiles of C each. Every tile along K
// adds the same to each count. So if K is long, `trace` runs for two short ones, and the counts are
// extrapolated (model::extrapolated). Every tile of C adds the same, too: of more than one turn,
// `trace` runs for one and two.
model::Counts counts_along(
    int K, int turns, const model::Variant& variant,
    const std::function<model::Counts(int K, int turns)>& trace);

// Counts the accesses of products that are too long to trace and to compute. A and B are random.
// Not thread-safe.
class LongProduct {
 public:
  // Throws a Refusal if there is not enough memory.
  LongProduct(const Request& request, ProblemSize sides);
  static double bytes_needed(ProblemSize sides);

  // The counts of that variant in `traced`. If C consists of many whole tiles, all blocks do the
  // same, and the first is traced; otherwise those that machine.blocks chooses. If A and B are
  // split before, it is the first of a C of two tiles.
  model::Counts count(
      const model::StageTable& traced, const model::Variant& variant, machine::Machine machine);

  // A product with this K, on which a kernel can be traced. C is moved to it from the last one.
  const Problem& with_K(int K);

 private:
  const Request request_;
  const ProblemSize sides_;
  std::map<int, Problem> problems_;  // key: K
  Problem* latest_;                  // has C
  Floats result_;
};

// Adds to each traced access and each hazard its line of `kernel`, the function whose calls were
// traced.
void annotate(Measurement& measurement, const void* kernel);

// Adds a hazard if elements of `result` were not written, in a run that traced only a part. This is
// known only if beta is 0 and no line of the kernels loads C.
void note_never_written(const Problem& p, const Floats& result, model::Counts& counts);

// The later stage that makes the costliest request of a stage cheaper.

// Traces the stages in `table` (its traced copy) after row.stage, in order, with the variants that
// compare with the row's (model/stage.h), on the same problem and for the same GPU. Stops at the
// first stage in which the row's worst request wastes less and takes fewer sectors or wavefronts.
// Returns nothing if no line of the row wastes anything, and a Remedy without a stage if there is
// no such stage. Stages that this GPU cannot launch are skipped.
std::optional<Remedy> find_remedy(
    const Problem& problem, const model::Gpu& gpu, const model::StageTable& table, const Row& row);

// A progress bar on a terminal, for work that takes seconds.

// Draws on `out` if that is a terminal, and does nothing otherwise. The bar appears after a tenth
// of a second and is redrawn at most ten times per second. The destructor erases it.
class Progress {
 public:
  Progress(std::string name, std::int64_t total, std::FILE* out = stderr);
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
