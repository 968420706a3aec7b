// One measurement: a problem and a kernel in; counts, hazards, time and error out.
#pragma once

#include "lab/measurement.h"
#include "lab/on_gpu.h"
#include "lab/problem.h"
#include "lab/reference.h"
#include "machine/grid.h"

namespace lab {

// A kernel's copies, as they were compiled. Those that are empty do not run.
struct Kernel {
  Gemm traced = {};  // for the CPU, with the tracer's hooks
  Gemm plain = {};   // for the CPU, without them: for the blocks that are not traced
  Gemm gpu = {};
  model::Precision precision = model::kFp32;
};

// What a kernel is measured with.
struct Means {
  machine::Machine machine{nullptr, machine::Blocks::kSample};  // for `traced`, which needs a GPU
  OnGpu* on_gpu = nullptr;                                      // null: not timed
  int repetitions = 0;                                          // as gpu::time_ms() takes them
  const Reference* reference = nullptr;                         // null: the result is not compared
  const Floats* cublas = nullptr;  // its fp32 result; null or empty: not compared with it
};

// Traces the kernel where it has a traced copy. The rest of C is computed on the GPU, which is
// timed, or else by the plain copy. `result` is left with what was computed, and where that is all
// of C, it is compared. A kernel with a fatal hazard goes no further: its result is none.
Measurement measure(const Problem& p, const Kernel& kernel, const Means& means, Floats& result);

// The same for a function of the CPU alone. As many rows of C are computed as so many
// multiplications allow, one at least, and the time is scaled up to all of them.
Measurement measure_on_cpu(
    const Problem& p, const Gemm& gemm, double multiplications, const Means& means, Floats& result);

// Says of each traced access, and of each hazard, on which line of `kernel` it stands, the function
// whose calls were traced.
void annotate(Measurement& measurement, const void* kernel);

// Adds a hazard where elements of `result` are as they were before, where only a part was traced:
// as far as it can be told, which is where beta is 0 and no line of the kernels loads C.
void note_never_written(const Problem& p, const Floats& result, model::Counts& counts);

}  // namespace lab
