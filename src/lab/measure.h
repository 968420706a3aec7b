// One measurement: a problem and a kernel in; counts, hazards, time and error out.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "lab/gpu/gpu.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "simulator/simulator.h"

namespace lab {

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

// Traces what is asked for, with the limits of that GPU.
machine::Machine machine_for(const Request& request, const model::Gpu& gpu);

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

// What the traced copy of that variant counts. Nothing is compared or timed.
Measurement traced(
    const Problem& p, const model::StageTable& table, const model::Variant& variant,
    const machine::Machine& machine);

// The same as measure() for a CPU function. Computes as many rows of C as this number of
// multiplications allows, at least one, and scales the time up to all rows.
Measurement measure_on_cpu(
    const Problem& p, const Gemm& gemm, double multiplications, const Means& means, Floats& result);

// Adds to each traced access and each hazard its line of `kernel`, the function whose calls were
// traced.
void annotate(Measurement& measurement, const void* kernel);

// Adds a hazard if elements of `result` were not written, in a run that traced only a part. This is
// known only if beta is 0 and no line of the kernels loads C.
void note_never_written(const Problem& p, const Floats& result, model::Counts& counts);

// Traces the stages in `table` (its traced copy) after row.stage, in order, with the variants that
// compare with the row's (model/stage.h), for the same GPU: on the same problem, or, of a product
// that is too long to trace, as `counted` does (null: it is traced). Stops at the first stage in
// which the row's worst request wastes less and takes fewer sectors or wavefronts. Returns nothing
// if no line of the row wastes anything, and a Remedy without a stage if there is no such stage.
// Stages that this GPU cannot launch are skipped.
std::optional<Remedy> find_remedy(
    const Problem& problem, LongProduct* counted, const model::Gpu& gpu,
    const model::StageTable& table, const Row& row);

}  // namespace lab
