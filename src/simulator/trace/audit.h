// An audit: proves for one block that the tracer saw every access.
//
// While the block runs, the pages of its matrices, of shared memory and of other threads' stacks
// are protected, so that each access faults. The signal handler compares the access with what was
// announced for the statement, opens the page, executes one instruction (by the trap flag), and
// protects the page again. Each access must be in an announced range for its direction, and each
// announced range must be accessed. A fault does not report a size.
//
// An audit takes about 30 microseconds per access. It needs a single thread of the operating
// system, Linux on x86-64, and a system that delivers these traps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"
#include "simulator/machine/memory.h"

namespace trace {

// The reason why no audit is possible here, in one sentence; empty if it is possible. Tested once.
const std::string& why_no_audit();

// Whether the audit of a block goes on.
inline bool an_audit_runs = false;

// Audits one block. The whole program may have only one of these at a time.
class AuditedBlock {
 public:
  // Protects the pages. `memory` and `into` must outlive this object.
  AuditedBlock(const machine::KernelMemory& memory, int threads, model::Audit& into);
  // Opens the pages and removes the signal handlers.
  ~AuditedBlock();
  AuditedBlock(const AuditedBlock&) = delete;
  AuditedBlock& operator=(const AuditedBlock&) = delete;

  // The thread with this stack runs from now on.
  void resume(std::span<const char> stack);
  // No thread of the block runs: the machine's accesses for them need not be stopped.
  void pause();
  // The block is complete.
  void end();

  // Another block runs before the audited one ends, so the audit that runs is over.
  static void leave_unfinished();
};

// The hooks call this on the thread's fiber: the next statement makes this access. Only while there
// is an AuditedBlock.
void audit_announced(
    std::uintptr_t address, std::size_t bytes, bool stores, const void* return_address);

}  // namespace trace
