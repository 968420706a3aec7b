#include "simulator/machine/ptx/instruction.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/refusal.h"
#include "testing/fuzz.h"

namespace machine::ptx {

TEST_CASE("a text that is not PTX is refused") {
  for (const char* text :
       {"mov.b32 %0", "mov.b32 %0, [%0;", "{ mov.b32 %0, 1;", "}", "mov.b32 %3, 1;",
        "@ mov.b32 %0, 1;", "mov.b32 %[x], 1;", ".shared .b32 x;", "mov.b32 %0, {1, 2;",
        "ld.b32 %0, [%0 * 2];"}) {
    CAPTURE(std::string(text));
    CHECK_THROWS_AS(parse(text, std::vector<std::string_view>(1)), model::Refusal);
  }
}

TEST_CASE("an instruction in an unknown form is known to be unknown") {
  for (const char* text :
       {"frobnicate.b32 %0;", "add.q32 %0, %1, %1;", "add.u32.rn.extra %0, %1, %1;",
        "ld.global.v4.u64 %0, [%1];", "mov.b32 {%0, %1}, 3, 4;",
        "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 %0, %1, %0, %1;", "add.u32 %0, %1;",
        "add.u32 3, %0, %1;", "bra NOWHERE;"}) {
    CAPTURE(std::string(text));
    const std::vector<std::string_view> names(2);
    const Program program = compile(text, names);
    REQUIRE(program.instructions.size() == 1);
    static const auto unknown = compile("unknown;", {}).instructions[0].run;
    CHECK((program.instructions[0].run == unknown));
  }
}

TEST_CASE("any text of inline PTX is read or refused with a sentence") {
  testing::Fuzz fuzz(
      {"{ .reg .pred p; setp.ne.b32 p, %0, 0;\n @p cp.async.cg.shared.global.L2::128B [%1], [%2], "
       "16, %3; }",
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%0,%1,%2,%3}, {%0,%1}, "
       "{%0,%1,%2,%3};",
       "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%1 + 0x40];",
       "{ .reg .b32 r<4>; mov.b32 r0, %%laneid; LAB: add.s32 r1, r0, -1; @!%0 bra LAB; }",
       "mov.b32 %0, {%1, %2}; cvt.rn.f16x2.f32 %0, 0f3f800000, 1.5e-3;",
       "mbarrier.try_wait.parity.shared::cta.b64 %0|%1, [%2], %3;",
       "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, "
       "{%2, %3}], [%0];",
       "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %1, %2, 1, 1, 1, 0, "
       "0;",
       "shfl.sync.bfly.b32 %0|%1, %2, 1, 31, -1;"},
      {".reg", ".pred", "%0",  "%1",  "{",    "}",    "[",       "]",    ";",   "@",
       "!",    "|",     "::",  ".v4", ".f32", ".b64", ".shared", "_",    "0x",  "0f",
       "0d",   "mov",   "add", "ld",  "st",   "cvt",  "mad",     "prmt", "bfe", "atom"});
  const std::vector<std::string_view> names(4);
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); }, [&](const std::string& text) { compile(text, names); });
}

}  // namespace machine::ptx
