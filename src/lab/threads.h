// The threads that share the work on a CPU.
#pragma once

namespace lab {

// Call this first in main. Gives every thread a stack that is large enough for traced kernels, even
// if ulimit -s is smaller, and limits OMP_NUM_THREADS to what this machine can use. Throws a
// Refusal if OMP_STACKSIZE is too small, because OpenMP reads it before main begins.
void prepare_threads();

}  // namespace lab
