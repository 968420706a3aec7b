#include "try/why_wrong.h"

#include <cmath>

#include "guard/guard.h"
#include "lab/measure.h"
#include "machine/grid.h"
#include "machine/waiting.h"
#include "report/words.h"
#include "try/device_calls.h"
#include "try/sgemm.h"
#include "try/users_problem.h"

namespace attempt {
namespace {

model::Error error_on_cpu(const flags::Flags& flags, const model::Gpu& gpu) {
  const UsersProblem p(lab::load_problem(flags, false));
  lab::Floats result = p.C;
  const std::vector<machine::GlobalArray> arrays = p.arrays(result);
  machine::Machine machine{&gpu};
  machine.arrays = arrays;
  hold_prints();  // the first run has printed
  const auto sgemm = machine::blocks_may_wait() ? sgemm_traced : sgemm_plain;
  guard::watched([&] { machine::run(machine, p.product_by(sgemm, result)); });
  drop_held();
  return p.compare(lab::compute_reference(p), result);
}

}  // namespace

std::string why_wrong(
    const flags::Flags& flags, const model::Gpu& gpu, const lab::Problem& p,
    const model::Error& error) {
  const std::string wrong = report::wrong_sentence("sgemm", error);
  if (p.beta != 0 || !std::isnan(error.first.value().value)) return wrong;
  flags::Flags with_beta = flags;
  with_beta.beta = 0.5f;
  const model::Error second = error_on_cpu(with_beta, gpu);
  if (!second.bound_ok) return wrong + "; with --beta 0.5, " + report::wrong_sentence("it", second);
  return "sgemm reads C although beta is 0, and 0 * NaN is NaN: test beta == 0 and do not read C "
         "then, as BLAS says. With --beta 0.5 it is right.";
}

}  // namespace attempt
