// Tests of the instruction mix that src/model/sass_mix.awk computes from SASS.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace model {

namespace {

// The output of src/model/sass_mix.awk for `sass`.
std::string counted(const std::string& sass) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("gemm_steps_sass." + std::to_string(getpid()));
  std::ofstream(path) << sass;
  std::FILE* awk = popen(("awk -f src/model/sass_mix.awk " + path).c_str(), "r");
  std::string text;
  for (int c; (c = std::fgetc(awk)) != EOF;) text += static_cast<char>(c);
  CHECK(pclose(awk) == 0);
  return text;
}

}  // namespace

TEST_CASE("with nested loops and two paths for copies, the mix counts what a warp executes") {
  // The outer loop begins at 0010, the inner one at 0060; 0030 is the path of a block at the edge.
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
      "kernel\twhole\t1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 1, 8\n"
      "kernel\tloop\t0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2\n"
      "kernel\tinner\t0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2\n");
}

TEST_CASE("a kernel without a loop that multiplies has no main loop") {
  CHECK(
      counted("\tFunction : f\n        /*0000*/                   EXIT ;\n") ==
      "f\twhole\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1\n");
  CHECK(counted("no SASS\n") == "");
}

TEST_CASE("the main loop is the one with the most math, on any pipe") {
  const auto looped = [](const std::string& math) {
    return counted(
        "\tFunction : k\n"
        "        /*0000*/                   LDG.E R1, [R2.64] ;\n"
        "        /*0010*/                   " +
        math +
        " ;\n"
        "        /*0020*/               @P1 BRA 0x0 ;\n"
        // The loop that scales the results has more instructions, but cheaper ones.
        "        /*0030*/                   FADD R4, R4, R5 ;\n"
        "        /*0040*/                   FFMA R6, R4, R5, R6 ;\n"
        "        /*0050*/                   FFMA R7, R4, R5, R7 ;\n"
        "        /*0060*/                   FFMA R8, R4, R5, R8 ;\n"
        "        /*0070*/               @P2 BRA 0x30 ;\n");
  };
  for (const char* mma :
       {"HMMA.16816.F32 R4, R8, R12, R4", "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24",
        "IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4", "DMMA.884 R4, R8, R12, R4"}) {
    CAPTURE(std::string(mma));
    CHECK(
        looped(mma).find("k\tloop\t1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1\n") !=
        std::string::npos);
  }
  // Neither an address computation nor a moved constant is math.
  for (const char* none : {"IMAD R4, R8, R12, R4", "HFMA2.MMA R4, -RZ, RZ, 0, 0"}) {
    CAPTURE(std::string(none));
    CHECK(
        looped(none).find("k\tloop\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 2\n") !=
        std::string::npos);
  }
  // A loop of fp64 products counts, too, although it has no column of its own.
  const std::string fp64 = counted(
      "\tFunction : k\n"
      "        /*0000*/                   LDG.E.64 R2, [R2.64] ;\n"
      "        /*0010*/                   DFMA R4, R2, R2, R4 ;\n"
      "        /*0020*/               @P1 BRA 0x0 ;\n");
  CHECK(fp64.find("k\tloop\t0, 1, 0") != std::string::npos);
}

}  // namespace model
