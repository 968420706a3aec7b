// Audits a user's file before it is counted: compares what the first block of each launch does to
// memory with what is announced to the tracer (trace/audit.h).
#pragma once

#include <string>

#include "model/recording.h"
#include "try/options.h"

namespace attempt {

struct AuditResult {
  std::string note;          // how much was audited, or why nothing was; printed with the counts
  std::string why_withheld;  // a sentence if the counts would not be true
};

// What an audit found, and what it did not.
std::string sentence_about(const model::Audit::Surprise& surprise);
std::string note_about(const model::Audit& audit);

// Runs in a child process of its own. If sgemm fails there, nothing is reported here; the counting
// run reports it.
AuditResult audit_sgemm(const Options& options);

}  // namespace attempt
