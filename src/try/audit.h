// Audits a tried file before it is counted: what the first block of each of its launches really
// does to memory, held against what the tracer is told (trace/audit.h).
#pragma once

#include <string>

#include "try/options.h"

namespace attempt {

struct AuditResult {
  std::string note;          // how much was audited, or why nothing was; for a reader of the counts
  std::string why_withheld;  // a sentence, where the counts would not be true
};

// In a child process of its own: that sgemm ends in another way than well is told by the run that
// counts.
AuditResult audit_sgemm(const Options& options);

}  // namespace attempt
