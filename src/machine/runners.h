// The threads of the operating system that run blocks, as seen by code outside of the machine.
// Signal handlers may call all of these functions.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <optional>
#include <string>

namespace machine {

bool in_kernel();           // whether this thread of the operating system runs a kernel's thread
const char* kernel_name();  // of the current launch; empty if there is none
std::optional<pthread_t> runner_of_first_block();  // of the running blocks, the first in the grid

// The next traced thread of that block whose turn ends calls `what` before it.
void call_at_end_of_turn(void (*what)());

// For the code that runs blocks.
void at_end_of_turn();
void name_kernel(const std::string& name);  // truncated if too long
// This thread of the operating system, OpenMP's number `number`, now runs that block; -1: none.
void runs_block(int number, std::int64_t block);

}  // namespace machine
