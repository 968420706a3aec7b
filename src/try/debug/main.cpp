// make debug KERNEL=file.cu: somebody's own sgemm under gdb (src/try/debug/debug.sh), without any
// tracing.
//
// The threads of a block are fibers that change places at barriers alone, and here one block runs
// after the other, so that a thread can be followed as any program can.
#include <omp.h>

#include <cstdio>

#include "cli/flags.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "machine/grid.h"

void sgemm_traced(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                  float* C);

int main(int argc, char** argv) {
  try {
    Flags flags = parse_flags(argc, argv);
    if (!flags.size) flags.size = 32;
    omp_set_num_threads(1);
    const Problem p = load_problem(flags, false);
    const Gpu gpu = choose_model(flags, false);
    Floats C = p.C;
    simt::run({&gpu}, [&] {
      sgemm_traced(p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
    });
    return 0;
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "debug: %s\n", refusal.what());
    return 2;
  } catch (const simt::KernelFault& fault) {
    std::fprintf(stderr, "debug: %s\n", fault.what());
    return 1;
  }
}
