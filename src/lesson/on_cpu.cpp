// Runs a CUDA program's main, whose kernels were compiled for the CPU, within the limits of a GPU.
#include <cstdio>
#include <exception>

#include "model/gpus.h"
#include "machine/grid.h"

int cuda_main();

int main() {
  int status = 1;
  try {
    simt::run({find_gpu("RTX 3090")}, [&] { status = cuda_main(); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return status;
}
