// The threads of the operating system that run blocks, for those that look from outside. All of it
// may be called from a signal handler.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <optional>
#include <string>

namespace machine {

bool in_kernel();           // this thread of the operating system runs a kernel's thread
const char* kernel_name();  // of the launch of the moment, empty where there is none
std::optional<pthread_t> runner_of_first_block();  // of the blocks that run, the first in the grid

// For those that run blocks.
void name_kernel(const std::string& name);  // cut off where it is long
// This thread of the operating system, OpenMP's number `number`, runs that block now; -1: none.
void runs_block(int number, std::int64_t block);

}  // namespace machine
