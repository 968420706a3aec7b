#include "simulator/trace/audit.h"

#include <doctest/doctest.h>

#include <string>

#include "lab/problem.h"
#include "model/gpus.h"
#include "simulator/machine/grid.h"
#include "simulator/trace/idioms.h"
#include "simulator/trace/trace.h"

namespace trace {
namespace {

model::Audit audited(
    void (*run)(const float*, float*), std::int64_t most = 50'000, double most_s = 3600) {
  alignas(256) static float in[1024], out[1024];
  model::Audit audit;
  audit.most_accesses = most;
  audit.most_s = most_s;
  machine::Machine machine{model::find_gpu("RTX 3090")};
  machine.audit = &audit;
  const machine::GlobalArray known[] = {{"in", in, sizeof in}, {"out", out, sizeof out}};
  trace(machine, known, [&] { run(in, out); });
  return audit;
}

bool no_audit_here() {
  if (why_no_audit().empty()) return false;
  MESSAGE("skipped: ", why_no_audit());
  return true;
}

}  // namespace

TEST_CASE("every access of every idiom is announced, and every announcement has its access") {
  if (no_audit_here()) return;
  const auto check = [](const char* text, void (*run)(const float*, float*)) {
    CAPTURE(std::string(text));
    const model::Audit audit = audited(run);
    CHECK(audit.blocks == 1);
    CHECK(audit.whole);
    CHECK(audit.surprises.empty());
  };
  for (const Idiom& idiom : idioms) check(idiom.text, idiom.run);
  for (const Divergence& divergence : divergences) check(divergence.text, divergence.run);
  for (const Exchange& exchange : exchanges) check(exchange.text, exchange.run);
  for (const Idiom& idiom : narrow_idioms) check(idiom.text, idiom.run);
  for (const Exchange& exchange : vocabulary) check(exchange.text, exchange.run);
  for (const Requests& requests : matrix_requests) check(requests.text, requests.run);
}

TEST_CASE(
    "an audit counts the accesses that it sees, and stops if there are too many or they take too "
    "long") {
  if (no_audit_here()) return;
  CHECK(audited(idioms.at(0).run).accesses == 64);  // out[t] = in[t] of 32 threads
  const model::Audit cut = audited(idioms.at(0).run, 10);
  CHECK(cut.accesses == 10);
  CHECK(!cut.whole);
  CHECK(cut.complete());
  const model::Audit late = audited(idioms.at(0).run, 50'000, 0);
  CHECK(late.accesses == 1);
  CHECK(!late.whole);
}

TEST_CASE("one of several threads may be audited in place of all") {
  if (no_audit_here()) return;
  const lab::Problem p = lab::random_problem({32, 32, 8}, 1, 0, 1);
  const model::Stage& coalesced = *model::find_stage(stage_table_traced.stages, 2);
  const auto accesses_of_every = [&](int every) {
    lab::Floats result = p.C;
    model::Audit audit;
    audit.every = every;
    machine::Machine machine{model::find_gpu("RTX 3090")};
    machine.audit = &audit;
    trace(
        machine, p.arrays(result),
        p.product_by(lab::gemm_of(stage_table_traced, coalesced.variants[0]), result));
    CHECK(audit.complete());
    return audit.accesses;
  };
  // A thread of a 32 x 32 block loads 8 floats of A and 8 of B, and stores one.
  CHECK(accesses_of_every(1) == 32 * 32 * 17);
  CHECK(accesses_of_every(4) == 8 * 32 * 17);
}

TEST_CASE("an audit finds accesses without announcement and announcements without access") {
  if (no_audit_here()) return;
  REQUIRE(!unannounced.empty());
  for (const Unannounced& kernel : unannounced) {
    CAPTURE(std::string(kernel.text));
    const model::Audit audit = audited(kernel.run);
    REQUIRE(!audit.surprises.empty());
    CHECK(audit.surprises[0].stores == kernel.stores);
    CHECK(audit.surprises[0].announced == kernel.announced);
    CHECK(audit.surprises[0].thread == kernel.thread);
    CHECK(!audit.complete());
  }
}

}  // namespace trace
