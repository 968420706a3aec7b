// What kernels call of the C library: the Makefile makes printf, assert's failure, malloc, new and
// rand of the compiled file these.
#pragma once

namespace attempt {

extern bool name_threads;  // printf begins with the block and the thread

// A kernel whose blocks run a second time would print twice. So what the first run prints can be
// held back (up to 1 MiB; what is beyond is printed at once).
void hold_prints();
void print_held();  // and hold nothing any more; may be called from a signal handler
void drop_held();

extern bool host_is_silent;  // printf outside of kernels prints nothing

}  // namespace attempt
