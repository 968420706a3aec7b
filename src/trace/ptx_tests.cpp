#include <doctest/doctest.h>

#include <string>

#include "trace/hazard_names.h"
#include "trace/ptx_checks.h"
#include "trace/trace.h"

namespace trace {

TEST_CASE("inline PTX does on the CPU what C++ says") {
  REQUIRE(!ptx_checks.empty());
  for (const PtxCheck& check : ptx_checks) {
    CAPTURE(std::string(check.text));
    std::string wrong;
    const model::Counts counts = trace({model::find_gpu("H200")}, {}, [&] { wrong = check.run(); });
    CHECK(wrong == "");
    CHECK(names_of(counts.hazards) == "");
  }
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

TEST_CASE("mistakes in PTX are found, and instructions that are not known where a thread comes") {
  for (const PtxMisuse& misuse : ptx_misuses) {
    CAPTURE(std::string(misuse.text));
    const std::string expected = misuse.finds;
    try {
      const model::Counts counts = trace({model::find_gpu("H200")}, {}, misuse.run);
      CHECK(names_of(counts.hazards) == expected);
    } catch (const machine::KernelFault& fault) {
      const std::string said = fault.what();
      CAPTURE(said);
      CHECK(expected != "");
      CHECK(said.find(expected) != std::string::npos);
      CHECK(fault.place != nullptr);
    }
  }
}

}  // namespace trace
