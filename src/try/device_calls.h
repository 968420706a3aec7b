// Functions of the C library that kernels may call. The Makefile redirects printf, assert's
// failure, malloc, new and rand of the user's file to these.
#pragma once

namespace attempt {

extern bool name_threads;  // printf starts with the block and the thread

// A kernel whose blocks run a second time would print twice. So the output of the first run can be
// held back (up to 1 MiB; the rest is printed at once).
void hold_prints();
void print_held();  // and stop holding; may be called from a signal handler
void drop_held();

extern bool host_is_silent;  // printf outside of kernels prints nothing

}  // namespace attempt
