// make debug KERNEL=file.cu: a user's sgemm under gdb (debug.sh), without tracing.
//
// The threads of a block are fibers that switch only at barriers, and here one block runs after the
// other, so gdb can follow a thread like any program.
#include <omp.h>

#include <cstdio>

#include "flags/flags.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "machine/grid.h"
#include "model/refusal.h"
#include "try/sgemm.h"

int main(int argc, char** argv) {
  try {
    flags::Flags flags = flags::parse_flags(argc, argv);
    if (!flags.size) flags.size = 32;
    omp_set_num_threads(1);
    const lab::Problem p = lab::load_problem(flags, false);
    const model::Gpu gpu = lab::choose_model(flags, false);
    lab::Floats C = p.C;
    machine::run({&gpu}, [&] {
      sgemm_traced(p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
    });
    return 0;
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "debug: %s\n", refusal.what());
    return 2;
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "debug: %s\n", fault.what());
    return 1;
  }
}
