// Where the compiler's hooks (trace.cpp) find the log of the thread that runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/warp_log.h"

namespace trace {

struct Hooks {
  LaneLog* log;           // null while no traced thread runs
  std::uintptr_t stacks;  // all fibers' stacks: registers and local memory, which are not counted
  std::size_t stack_bytes;
  std::uintptr_t stack_floor;  // of the fiber that runs: below it there is too little left
  std::uintptr_t exit;         // where the last function returned
  // The thread-local variables of the program, among them those that are shared memory, and of each
  // of their words whether it is shared memory of the kernel.
  std::uintptr_t locals;
  std::size_t locals_bytes;
  const char* is_shared;
  bool looks_for_hazards;
};
extern __thread Hooks hooks;

// A cp.async issued at `place`; `global` is null where it only fills with zeros.
void record_async_copy(const void* shared, const void* global, std::size_t bytes, void* place);

// That the running thread came to `place`; a wait also for how many groups it does not wait.
void record(Kind kind, const void* place);
void record_wait(int groups_in_flight, const void* place);
// An atomic at `place`: a load and a store.
void record_atomic(const void* pointer, std::size_t bytes, void* place);

// Called by a hook when the log is full: the warp's other lanes run, and the logs are folded.
void pause_with_full_log();

// Called by a hook when what the log tells last must not happen: the block is abandoned.
[[noreturn]] void go_astray();

}  // namespace trace
