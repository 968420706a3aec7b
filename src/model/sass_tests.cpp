#include "model/sass.h"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

namespace model {

namespace {

// As `nvdisasm -gi` writes it.
constexpr const char* kCode = R"(
	.target	sm_90
	.section	.text._Z5tiledPf,"ax",@progbits
.text._Z5tiledPf:
	//## File "/home/me/tiled.cu", line 9
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 EXIT ;
.L_x_1:
	//## File "/home/me/tiled.cu", line 12
        /*0020*/                   STS [R2], R3 ;
        /*0030*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
	//## File "/home/me/tiled.cu", line 14
        /*0040*/                   LDS.128 R4, [R5+0x10] ;
	//## File "/home/me/tiled.cu", line 3 inlined at "/home/me/tiled.cu", line 15
	//## File "/home/me/tiled.cu", line 15
        /*0050*/               @P1 LDS.U16 R8, [R6+UR4] ;
        /*0060*/               @P2 BRA `(.L_x_2) ;
	//## File "/home/me/tiled.cu", line 16
        /*0070*/                   LDS.64 R10, [R6] ;
.L_x_2:
	//## File "/home/me/tiled.cu", line 17
        /*0080*/                   LDS R12, [R6] ;
        /*0090*/              @!P3 BRA `(.L_x_1) ;
        /*00a0*/                   LDSM.16.M88.4 R16, [R7] ;
        /*00b0*/                   EXIT ;
.L_x_3:
        /*00c0*/                   BRA `(.L_x_3) ;
	.section	.nv.info,"",@"SHT_CUDA_INFO"
	.section	.text._Z4nonev,"ax",@progbits
.text._Z4nonev:
        /*0000*/                   EXIT ;
)";

std::vector<SassKernel> read(const std::string& text) {
  std::istringstream disassembly(text);
  return read_sass(disassembly);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a disassembly gives the shared-memory instructions with their widths and lines") {
  const std::vector<SassKernel> kernels = read(kCode);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "_Z5tiledPf");
  CHECK(kernels[1].name == "_Z4nonev");
  CHECK(kernels[1].instructions.empty());
  const auto& made = kernels[0].instructions;
  REQUIRE(made.size() == 6);
  using Kind = SharedInstruction::Kind;
  CHECK(made[0].kind == Kind::store);
  CHECK(made[1].kind == Kind::load);
  CHECK(made[5].kind == Kind::load_matrices);
  const int bytes[] = {4, 16, 2, 8, 4, 16};
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(made[i].bytes == bytes[i]);
    CHECK(made[i].predicated == (i == 2));
  }
  REQUIRE(made[1].places.size() == 1);
  CHECK(made[1].places[0].file == "/home/me/tiled.cu");
  CHECK(made[1].places[0].line == 14);
  REQUIRE(made[2].places.size() == 2);
  CHECK(made[2].places[0].line == 15);
  CHECK(made[2].places[1].line == 3);
}

TEST_CASE("instructions of a loop's every iteration are executed equally often, and no others") {
  const auto made = read(kCode)[0].instructions;
  CHECK(made[0].together == made[1].together);
  CHECK(made[0].together == made[2].together);
  CHECK(made[0].together == made[4].together);
  CHECK(made[0].together != made[3].together);  // jumped over
  CHECK(made[0].together != made[5].together);  // after the loop
}

TEST_CASE("a warp that may end between two instructions does not execute both equally often") {
  const std::string text =
      replaced(kCode, "@!P3 BRA `(.L_x_1)", "@P1 EXIT") + "";  // now there is no loop
  const auto made = read(text)[0].instructions;
  CHECK(made[0].together == made[4].together);
  CHECK(made[4].together != made[5].together);
  const auto straight =
      read(replaced(kCode, "@!P3 BRA `(.L_x_1)", "IADD3 R1, R1, R2, R3"))[0].instructions;
  CHECK(straight[4].together == straight[5].together);
}

TEST_CASE("where a branch's target is computed, only one block is executed equally often") {
  const auto made = read(replaced(kCode, "S2R R0, SR_TID.X", "BRX R2 -0x10"))[0].instructions;
  CHECK(made[0].together == made[1].together);
  CHECK(made[0].together != made[4].together);
}

}  // namespace model
