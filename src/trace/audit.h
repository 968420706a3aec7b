// Proves for one block that the tracer saw everything.
//
// While the block runs, the pages of its matrices, of shared memory and of other threads' stacks
// are closed. So each access faults. The handler holds it against what was announced for the
// statement, opens the page, lets one instruction through (the trap flag), and closes the page
// again. Each access has to lie in an announced range of its direction, and each announced range
// has to be touched; a fault tells no size.
//
// It takes some 30 microseconds per access. It needs one thread of the operating system, Linux on
// x86-64, and a system that delivers these traps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine/kernel_memory.h"
#include "model/audit.h"
#include "model/warp_geometry.h"

namespace trace {

// Why no audit is possible here, in one sentence; empty where one is. Tried once.
const std::string& why_no_audit();

// Of one block at a time in the whole program.
class AuditedBlock {
 public:
  // Closes the pages. `memory` and `into` have to outlive it.
  AuditedBlock(
      model::WarpGeometry geometry, const machine::KernelMemory& memory, int threads,
      model::Audit& into);
  // Opens them, and takes the handlers away.
  ~AuditedBlock();
  AuditedBlock(const AuditedBlock&) = delete;
  AuditedBlock& operator=(const AuditedBlock&) = delete;

  // The thread that this stack belongs to runs from now on.
  void resume(std::span<const char> stack);
  // The block came to its end.
  void end();

  // Another block runs meanwhile: the audit of this one, if there is any, is over.
  static void leave_unfinished();
};

// For the compiler's hooks, on the fiber of the thread: the statement that follows makes this
// access. Only while there is an AuditedBlock.
void audit_announced(
    std::uintptr_t address, std::size_t bytes, bool stores, const void* return_address);

}  // namespace trace
