#include "model/mix.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

#include "model/registers.h"
#include "testing/program.h"

namespace model {

TEST_CASE("every kernel whose registers are recorded has its main loop recorded, and no other") {
  std::set<std::pair<std::string_view, int>> with_registers, with_loops;
  for (const KernelRecord& record : kernel_records()) {
    with_registers.insert({record.kernel, record.compute_capability});
  }
  for (const LoopRecord& record : loop_records()) {
    with_loops.insert({record.kernel, record.compute_capability});
  }
  CHECK(with_loops.size() == loop_records().size());
  CHECK(with_loops == with_registers);
}

TEST_CASE("a main loop multiplies, and copies what it multiplies") {
  for (const LoopRecord& record : loop_records()) {
    CAPTURE(record.kernel);
    CAPTURE(record.compute_capability);
    const InstructionMix& loop = record.loop;
    CHECK(loop.ffma + record.inner.ffma > 0);
    const int copies = loop.ldg32 + loop.ldg64 + loop.ldg128 + loop.ldgsts32 + loop.ldgsts128;
    CHECK(copies > 0);
    const bool uses_smem = loop.lds() + record.inner.lds() > 0;
    CHECK((loop.bar > 0) == uses_smem);
    CHECK(record.inner.ffma <= record.inner.all());
  }
}

TEST_CASE("cp.async is in the loop from sm_80 on, and plain copies below") {
  for (int capability : {75, 80, 86, 89, 90}) {
    CAPTURE(capability);
    const auto record =
        find_loop_record("async_pipeline<64, 256, 8, 64, 64, 16, 8, 4, 4>", capability);
    REQUIRE(record);
    // A thread copies 4 floats of A, and 4 times 4 of B. The edge's way through is not counted.
    const InstructionMix& loop = record->loop;
    CHECK(loop.ldgsts32 == (capability < 80 ? 0 : 4));
    CHECK(loop.ldgsts128 == (capability < 80 ? 0 : 4));
    CHECK(loop.ldg32 == (capability < 80 ? 4 : 0));
    CHECK(loop.ldg128 == (capability < 80 ? 4 : 0));
  }
}

TEST_CASE("rounds are those that do all multiplications of a thread") {
  LoopRecord record{};
  record.loop.ffma = 32;
  CHECK(rounds(record, 2, 64, 0).loop == 4);
  CHECK(rounds(record, 2, 64, 0).inner == 0);
  record.loop.ffma = 0;
  record.inner.ffma = 64;
  CHECK(rounds(record, 64, 256, 8).loop == 32);
  CHECK(rounds(record, 64, 256, 8).inner == 256);
  record.loop.ffma = 64;  // a step before the loop inside
  CHECK(rounds(record, 64, 256, 8).inner == 224);
  CHECK(rounds(LoopRecord{}, 64, 256, 8).loop == 0);
}

namespace {

// What src/model/sass_mix.awk makes of `sass`.
std::string counted(const std::string& sass) {
  const testing::Output awk = testing::run("awk -f src/model/sass_mix.awk", sass);
  CHECK(awk.exit_code == 0);
  return awk.out;
}

}  // namespace

TEST_CASE("of a loop in a loop, and of two ways to copy, the mix is what a warp goes through") {
  // The outer loop begins at 0010, the inner one at 0060; 0030 is the way of a block at the edge.
  const std::string text = counted(R"(
	Function : kernel
        /*0000*/                   S2R R0, SR_TID.X ;          /* 0x0000000000007919 */
                                                               /* 0x000e220000002100 */
        /*0010*/              @!P0 BRA 0x40 ;
        /*0020*/                   BRA 0x60 ;
        /*0030*/                   LDG.E R1, [R2.64] ;
        /*0040*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0050*/                   STS.64 [R3], R4 ;
        /*0060*/                   LDS.U.128 R8, [R0] ;
        /*0070*/              @!PT LDS RZ, [RZ] ;
        /*0080*/                   FFMA R12, R8, R9, R12 ;
        /*0090*/                   FFMA R12, R10, R11, R12 ;
        /*00a0*/               @P1 BRA 0x60 ;
        /*00b0*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*00c0*/               @P2 BRA 0x10 ;
        /*00d0*/                   STG.E [R2.64], R12 ;
        /*00e0*/                   EXIT ;
        /*00f0*/                   BRA 0xf0;
)");
  CHECK(
      text ==
      "kernel\twhole\t1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 1, 8\n"
      "kernel\tloop\t0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2\n"
      "kernel\tinner\t0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2\n");
}

TEST_CASE("a kernel that multiplies in no loop has no main loop") {
  CHECK(
      counted("\tFunction : f\n        /*0000*/                   EXIT ;\n") ==
      "f\twhole\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1\n");
  CHECK(counted("no SASS\n") == "");
}

TEST_CASE("a loop is found for its own architecture, else for the nearest one below") {
  const std::string_view kernel = loop_records().front().kernel;
  REQUIRE(find_loop_record(kernel, 87));
  CHECK(find_loop_record(kernel, 87)->compute_capability == 86);
  CHECK(!find_loop_record(kernel, 70));
  CHECK(!find_loop_record("no such kernel", 90));
}

// One of the sources profiled its 1D coarsening on an RTX 3090 at M N K = 2^31 (16 x 16 tiles, BK
// 16, s results a thread), and counted 83.89, 50.33, 33.55, 25.17 and 41.94 million loads from
// shared memory: M N K / 32 (1/4 + 1/s), because the compiler loads A's tile four words at a time.
TEST_CASE("the recorded loops give the loads that a profiler counted for 1D coarsening") {
  constexpr double kProducts = 0x1p31;
  constexpr int kTile = 16;
  const std::pair<int, double> counted[] = {{1, 83.89}, {2, 50.33}, {4, 33.55}, {8, 25.17}};
  const auto millions = [&](int s, int capability) {
    const std::string name = "thread_coarsening_1d<16, 16, 16, " + std::to_string(s) + ">";
    const LoopRecord record = find_loop_record(name, capability).value();
    const Rounds a_tile = rounds(record, s, kTile, kTile);
    const double warps = s == 16 ? 1 : kTile * kTile / s / 32.0;  // 16 threads fill half of one
    const double loads =
        warps * (a_tile.loop * record.loop.lds() + a_tile.inner * record.inner.lds());
    return kProducts / (kTile * kTile * kTile) * loads * 1e-6;
  };
  for (int capability : {75, 80, 86, 89, 90, 100, 120}) {
    CAPTURE(capability);
    for (const auto& [s, as_counted] : counted) {
      CAPTURE(s);
      CHECK(millions(s, capability) == doctest::Approx(as_counted).epsilon(0.0002));
      CHECK(millions(s, capability) == doctest::Approx(kProducts / 32e6 * (0.25 + 1.0 / s)));
    }
    // With 16 results nvcc 13 unrolls two steps and not four: it loads two words at a time.
    CHECK(millions(16, capability) == doctest::Approx(2 * kProducts / 32e6 * (0.5 + 1.0 / 16)));
  }
}

}  // namespace model
