#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "simulator/trace/audit.h"
#include "simulator/trace/checks.h"
#include "simulator/trace/hazard_kernels.h"
#include "simulator/trace/trace.h"

namespace trace {

namespace {

// No result may be wrong, and no hazard found.
void run(const std::vector<Check>& checks) {
  REQUIRE(!checks.empty());
  for (const Check& check : checks) {
    CAPTURE(std::string(check.text));
    std::string wrong;
    const model::Counts counts = trace({model::find_gpu("H200")}, {}, [&] { wrong = check.run(); });
    CHECK(wrong == "");
    CHECK(names_of(counts.hazards) == "");
  }
}

// Each must give exactly these hazards, or that fault, or that result.
void check(const std::vector<Misuse>& misuses) {
  REQUIRE(!misuses.empty());
  for (const Misuse& misuse : misuses) {
    CAPTURE(std::string(misuse.text));
    const std::string expected = misuse.finds;
    std::string result;
    try {
      const model::Counts counts =
          trace({model::find_gpu("H200")}, {}, [&] { result = misuse.run(); });
      const std::string hazards = names_of(counts.hazards);
      CHECK((hazards.empty() ? result : hazards) == expected);
    } catch (const machine::KernelFault& fault) {
      const std::string message = fault.what();
      CAPTURE(message);
      CHECK(expected != "");
      CHECK(message.find(expected) != std::string::npos);
      CHECK(fault.place != nullptr);
    }
  }
}

}  // namespace

TEST_CASE("the instructions of sm_90a move data on the CPU as on the GPU") {
  run(hopper_checks);
}

TEST_CASE("the instructions of sm_90a move data in kernels that are not traced") {
  REQUIRE(!plain_hopper_checks.empty());
  for (const Check& check : plain_hopper_checks) {
    CAPTURE(std::string(check.text));
    std::string wrong;
    CHECK(machine::run({model::find_gpu("H200")}, [&] { wrong = check.run(); }).empty());
    CHECK(wrong == "");
  }
}

TEST_CASE("boxes are counted once, with their bytes and sectors") {
  // The pipeline without a mistake: A is 128 x 192, copied twice; C is 128 x 128.
  constexpr std::int64_t kBytesOfA = 2 * 128 * 192 * 4, kBytesOfC = 128 * 128 * 4;
  const Misuse& pipeline = hopper_mutants.at(0);
  REQUIRE(std::string(pipeline.finds) == "");
  const model::Counts counts =
      trace({model::find_gpu("H200")}, {}, [&] { static_cast<void>(pipeline.run()); });
  CHECK(counts.async_gmem.requests == 12);
  CHECK(counts.async_gmem.bytes.sum == kBytesOfA);
  CHECK(counts.async_gmem.pieces == kBytesOfA / 32);
  CHECK(counts.async_gmem.ideal_pieces == counts.async_gmem.pieces);
  CHECK(counts.async_gmem.uncoalesced == 0);
  CHECK(counts.async_gmem.lines == kBytesOfA / 128);
  CHECK(counts.async_gmem.accesses.max == 12);  // by one thread
  CHECK(counts.async_gmem.accesses.min == 0);
  // When a box starts, those in the other two of its ring's three places may be in flight.
  CHECK(counts.box_bytes_in_flight == (1 + 2 + 10 * 3) * 128 * 128);
  CHECK(counts.async_smem.requests == 12);
  CHECK(counts.async_smem.bytes.sum == kBytesOfA);
  CHECK(counts.gmem_stores.requests == 4);
  CHECK(counts.gmem_stores.bytes.sum == kBytesOfC);
  CHECK(counts.gmem_stores.pieces == kBytesOfC / 32);
  // The threads' own stores for C, which no two lanes of a bank make at once.
  CHECK(counts.smem_stores.bytes.sum == kBytesOfA + kBytesOfC);
  for (const model::LineCounts& line : counts.lines) CHECK(line.requests > 0);
}

TEST_CASE("an audit finds every access of kernels with boxes and wgmma announced") {
  if (!why_no_audit().empty()) {
    MESSAGE("skipped: ", why_no_audit());
    return;
  }
  for (const Check& check : hopper_checks) {
    CAPTURE(std::string(check.text));
    model::Audit audit;
    audit.most_accesses = 1'000;
    machine::Machine machine{model::find_gpu("H200")};
    machine.audit = &audit;
    std::string wrong;
    trace(machine, {}, [&] { wrong = check.run(); });
    CHECK(wrong == "");
    CHECK(audit.blocks > 0);
    CHECK(audit.accesses > 0);
    CHECK(audit.surprises.empty());
  }
}

TEST_CASE("every mistake in a pipeline is found") {
  check(hopper_mutants);
}

TEST_CASE("small kernels that misuse barriers, boxes and wgmma are found, and no correct ones") {
  check(hopper_misuses);
}

TEST_CASE("inline PTX gives the results of the same C++") {
  run(ptx_checks);
}

TEST_CASE("a kernel in PTX has the counts of the same kernel in CUDA C++") {
  for (const PtxTwins& twins : ptx_twins) {
    CAPTURE(std::string(twins.text));
    const model::Counts written = trace({model::find_gpu("H200")}, {}, twins.written);
    const model::Counts in_ptx = trace({model::find_gpu("H200")}, {}, twins.in_ptx);
    CHECK(names_of(in_ptx.hazards) == "");
    const auto same = [](const model::Traffic& a, const model::Traffic& b) {
      CHECK(a.requests == b.requests);
      CHECK(a.pieces == b.pieces);
      CHECK(a.ideal_pieces == b.ideal_pieces);
      CHECK(a.bytes.sum == b.bytes.sum);
      CHECK(a.accesses.sum == b.accesses.sum);
      CHECK(a.bank_conflicts == b.bank_conflicts);
      CHECK(a.uncoalesced == b.uncoalesced);
    };
    CHECK(written.gmem_loads.requests + written.async_gmem.requests > 0);
    same(in_ptx.gmem_loads, written.gmem_loads);
    same(in_ptx.gmem_stores, written.gmem_stores);
    same(in_ptx.smem_loads, written.smem_loads);
    same(in_ptx.smem_stores, written.smem_stores);
    same(in_ptx.async_gmem, written.async_gmem);
    same(in_ptx.async_smem, written.async_smem);
  }
}

TEST_CASE("mistakes in PTX are found, and so are unknown instructions that a thread reaches") {
  check(ptx_misuses);
}

}  // namespace trace
