// The threads that share the work on a CPU.
#pragma once

namespace lab {

// Call this first in main. Gives every thread a stack that kernels and their tracing fit on, also
// where ulimit -s allows less, and keeps OMP_NUM_THREADS within what this machine has a use for and
// gives. Throws a Refusal where OMP_STACKSIZE asks for less: that is read before main begins.
void prepare_threads();

}  // namespace lab
