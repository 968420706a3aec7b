// Runs the main of a CUDA program such as examples/vector_add.cu, whose kernels were compiled for
// the CPU, within the limits of a GPU. lesson.mk gives it this name, and its <<< >>> become
// launch().
#include <cstdio>
#include <exception>

#include "model/gpus.h"
#include "simulator/simulator.h"

int cuda_main();

int main() {
  int status = 1;
  try {
    machine::run({model::find_gpu("RTX 3090")}, [&] { status = cuda_main(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return status;
}
