// One measurement: a problem and a kernel in; counts, hazards, time and error out.
#pragma once

#include "lab/measurement.h"
#include "lab/on_gpu.h"
#include "lab/problem.h"
#include "lab/reference.h"
#include "machine/grid.h"

namespace lab {

// The compiled copies of a kernel. Empty ones are not run.
struct Kernel {
  Gemm traced = {};  // for the CPU, with the tracer's hooks
  Gemm plain = {};   // for the CPU, without hooks: for the blocks that are not traced
  Gemm gpu = {};
  Gemm gpu_again = {};  // the same, of the same A and B as before: this is timed. Empty: `gpu` is
  model::Precision precision = model::kFp32;
  // The blocks to trace, if blocks hand data to one another or compute several tiles; the plain
  // copy then runs all blocks. Empty: machine/block_sample.h's choice; the plain copy runs the
  // others.
  machine::SampleOf sample = {};
};

// The blocks to trace of what the variant of that table launches on a GPU with `sms` SMs. Empty if
// each block computes a tile.
machine::SampleOf sample_of(
    const Problem& p, const model::StageTable& table, const model::Variant& variant, int sms);

// What a measurement uses.
struct Means {
  machine::Machine machine{nullptr, machine::Blocks::kSample};  // for `traced`, which needs a GPU
  OnGpu* on_gpu = nullptr;                                      // null: not timed
  int repetitions = 0;                                          // for gpu::time_ms()
  const Reference* reference = nullptr;                         // null: the result is not compared
  const Floats* cublas = nullptr;  // cuBLAS's fp32 result; null or empty: not compared with it
};

// Traces the kernel if it has a traced copy. The rest of C is computed and timed on the GPU, or
// else by the plain copy. `result` receives what was computed, and is compared if that is all of C.
// After a fatal hazard the kernel does not run further and has no result.
Measurement measure(const Problem& p, const Kernel& kernel, const Means& means, Floats& result);

// The same for a CPU function. Computes as many rows of C as this number of multiplications allows,
// at least one, and scales the time up to all rows.
Measurement measure_on_cpu(
    const Problem& p, const Gemm& gemm, double multiplications, const Means& means, Floats& result);

// Adds to each traced access and each hazard its line of `kernel`, the function whose calls were
// traced.
void annotate(Measurement& measurement, const void* kernel);

// Adds a hazard if elements of `result` were not written, in a run that traced only a part. This is
// known only if beta is 0 and no line of the kernels loads C.
void note_never_written(const Problem& p, const Floats& result, model::Counts& counts);

}  // namespace lab
