// What the compiler's hooks know about the lane that runs on this thread of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "trace/local_stores.h"
#include "trace/token.h"

namespace trace {

class Watch;

struct Hooks {
  LaneLog* log;  // null while no traced thread runs
  // The stacks of all fibers: registers and local memory, which are not counted.
  std::uintptr_t stacks;
  std::size_t stack_bytes;
  // The stack of the running fiber. Below the floor, too little is left for the hooks.
  std::uintptr_t stack_floor, stack_top;
  // From here on up, a load from the running thread's own stack may be of a sum to which wgmma
  // adds; the stack's top if wgmma adds to none.
  std::uintptr_t sums;
  // The kernel's code, and how much of the stack was in use when the kernel was called.
  std::uintptr_t kernel;
  std::size_t kernel_bytes;
  std::ptrdiff_t above_kernel;
  std::ptrdiff_t deepest;  // the deepest use of any stack
  std::uintptr_t exit;     // where the last function returned
  // The program's thread-local variables, including shared memory, and for each of their words
  // whether it is shared memory of the kernel.
  std::uintptr_t locals;
  std::size_t locals_bytes;
  const char* is_shared;
  bool outside_kernel;  // the running thread has not yet entered it: nothing is counted
  bool looks_for_hazards;
  bool audited;  // every access is also reported to audit_announced()
  Watch* watch;  // receives volatile accesses before they are made
  LocalStores* local_stores;
};
extern __thread Hooks hooks;

// For the hooks and the functions that they call.
inline constexpr std::size_t kStackReserve = 8 * 1024;

// For each word of the program's thread-local variables, whether a kernel may access it.
std::vector<char> shared_words(std::span<const machine::KernelArray> arrays);

// These log for the running lane what the compiler does not announce: that it reached `place`; for
// a wait, how many groups may stay in flight; for a barrier of the warp, its mask.
void log_step(Kind kind, const void* place);
void log_value(Kind kind, std::uint64_t value, const void* place);
void log_told(const Told& told, std::size_t bytes, const void* place);
// `global` is null if a cp.async only fills with zeros.
void log_async_copy(const void* shared, const void* global, std::size_t bytes, const void* place);
// An ldmatrix or stmatrix; `row` is 16 bytes of shared memory, or null if the lane's row is not
// used.
void log_matrix_row(Kind kind, const void* row, const void* place);
// An access that the machine makes for the kernel.
void log_machine_access(Kind kind, const void* pointer, std::size_t bytes, const void* place);
// Logs an access to an object of any size, in pieces of at most `widest` bytes, a power of two.
void log_range(
    Kind kind, const void* pointer, std::size_t bytes, std::size_t widest, const void* place);
// Logs a load of that kind, and a store.
void log_atomic(Kind load, const void* pointer, std::size_t bytes, const void* place);

}  // namespace trace
