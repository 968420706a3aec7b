// What kernels call of the C library: the Makefile makes printf, assert's failure, malloc and new
// of the compiled file these.
#pragma once

extern bool name_threads;  // printf begins with the block and the thread
