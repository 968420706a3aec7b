#include "try/audit.h"

#include <cstdio>

#include "guard/guard.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "machine/waiting.h"
#include "text/numbers.h"
#include "trace/audit.h"
#include "trace/source_lines.h"
#include "trace/trace.h"
#include "try/device_calls.h"
#include "try/guarded_kernel.h"
#include "try/sgemm.h"
#include "try/users_problem.h"

namespace attempt {

std::string sentence_about(const model::Audit::Surprise& surprise) {
  const std::string where = surprise.line > 0 ? text::printed("line %d: ", surprise.line) : "";
  const std::string thread = text::printed("thread %lld", static_cast<long long>(surprise.thread));
  const char* deed = surprise.stores ? "store" : "load";
  if (surprise.announced) {
    return where + thread + " does not make a " + deed +
           " that the compiler announces; the counts would include it, so none are printed";
  }
  return where + thread + " makes a " + deed +
         " that the compiler does not announce; the counts would miss it, so none are printed";
}

std::string note_about(const model::Audit& audit) {
  return std::string("Audited: ") + (audit.whole ? "all " : "the first ") +
         text::grouped(audit.accesses) + " accesses of " +
         (audit.blocks == 1 ? "the first block"
                            : "the first blocks of " + text::grouped(audit.blocks) + " launches") +
         " were announced to the tracer, and no others.";
}

namespace {

model::Audit audited(const Options& options) {
  const UsersProblem p(lab::load_problem(options.flags, false));
  const model::Gpu gpu = lab::choose_model(options.flags, false);
  lab::Floats result = p.C;
  const std::vector<machine::GlobalArray> arrays = p.arrays(result);
  model::Audit audit;
  // A block that waits for another one would never end alone.
  machine::Machine machine{
      &gpu, machine::blocks_may_wait() ? machine::Blocks::kSample : machine::Blocks::kFirst};
  machine.audit = &audit;
  machine.launched = [&](const machine::Launch& launch, const model::Counts&) {
    trace::resolve_lines(audit, trace::kernel_lines(launch.kernel));
  };
  hold_prints();
  host_is_silent = true;
  guard::watched([&] { trace::trace(machine, arrays, p.product_by(sgemm_traced, result)); });
  drop_held();
  return audit;
}

}  // namespace

AuditResult audit_sgemm(const Options& options) {
  if (const std::string& why = trace::why_no_audit(); !why.empty()) {
    return {"Not audited: " + why + ".", ""};
  }
  guard::Guard guard = kernel_guard(options.limit_s, "try");
  guard.watched.before_failure = drop_held;
  const guard::Ended ended = guard::run_in_child(guard, [&](std::FILE* report) {
    const model::Audit audit = audited(options);
    const bool is_true = audit.surprises.empty();
    const std::string said = is_true ? note_about(audit) : sentence_about(audit.surprises.front());
    std::fputs(said.c_str(), report);
    return guard::Outcome{is_true ? 0 : 1, ""};
  });
  if (ended.how != guard::Ended::done) {
    return {"Not audited: the first block did not finish by itself.", ""};
  }
  return ended.exit_code == 0 ? AuditResult{ended.report, ""} : AuditResult{"", ended.report};
}

}  // namespace attempt
