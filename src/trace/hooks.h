// What the compiler's hooks know of the lane that runs on this thread of the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/kernel_memory.h"
#include "trace/token.h"

namespace trace {

struct Hooks {
  LaneLog* log;           // null while no traced thread runs
  std::uintptr_t stacks;  // all fibers' stacks: registers and local memory, which are not counted
  std::size_t stack_bytes;
  // Of the fiber that runs. Below its floor there is too little left for the hooks.
  std::uintptr_t stack_floor, stack_top;
  // The kernel's code, and how much of a stack was in use when the kernel was called.
  std::uintptr_t kernel;
  std::size_t kernel_bytes;
  std::ptrdiff_t above_kernel;
  std::ptrdiff_t deepest;  // the most that was in use of any stack
  std::uintptr_t exit;     // where the last function returned
  // The thread-local variables of the program, among them those that are shared memory, and of each
  // of their words whether it is shared memory of the kernel.
  std::uintptr_t locals;
  std::size_t locals_bytes;
  const char* is_shared;
  bool looks_for_hazards;
  bool audited;  // every access is told to audit_announced(), too
};
extern __thread Hooks hooks;

inline constexpr std::size_t kStackReserve = 8 * 1024;  // for the hooks and what they call

// Of each word of the program's thread-local variables whether a kernel may touch it.
std::vector<char> shared_words(std::span<const machine::KernelArray> arrays);

// What the compiler does not announce, logged for the lane that runs: that it came to `place`, a
// wait also for how many groups it does not wait.
void log_step(Kind kind, const void* place);
void log_wait(int groups_in_flight, const void* place);
// `global` is null where a cp.async only fills with zeros.
void log_async_copy(const void* shared, const void* global, std::size_t bytes, const void* place);
// An access of an object of any size, by pieces of at most `widest` bytes, a power of two.
void log_range(
    Kind kind, const void* pointer, std::size_t bytes, std::size_t widest, const void* place);
// A load and a store.
void log_atomic(const void* pointer, std::size_t bytes, const void* place);

}  // namespace trace
