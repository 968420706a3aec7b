// Tests of the instruction mix that src/model/sass_mix.awk computes from SASS.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

// The line of `part` without its last `n` counts.
std::string without_last(std::string line, int n) {
  for (; n > 0; --n) line.resize(line.rfind(", "));
  return line;
}

// Whether the line of `part` ends with these counts of waiting, followed by three others.
bool waits_are(const std::string& text, const std::string& part, const std::string& waits) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\t" + part + "\t") != line.npos)
      return without_last(line, 3).ends_with(", " + waits);
  }
  return false;
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
      "kernel\twhole\t1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 2, 0, 1, 8, 1, 0, 1, "
      "1, 0, 0, 0\n"
      "kernel\tloop\t0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 0, 0, 0, "
      "0, 0, 0\n"
      "kernel\tinner\t0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 1, "
      "1, 0, 0, 0\n");
}

TEST_CASE("a kernel without a loop that multiplies has no main loop") {
  CHECK(
      counted("\tFunction : f\n        /*0000*/                   EXIT ;\n") ==
      "f\twhole\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, "
      "0, 0\n");
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
        looped(mma).find(
            "k\tloop\t1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, ") !=
        std::string::npos);
  }
  // Neither an address computation nor a moved constant is math.
  for (const char* none : {"IMAD R4, R8, R12, R4", "HFMA2.MMA R4, -RZ, RZ, 0, 0"}) {
    CAPTURE(std::string(none));
    CHECK(
        looped(none).find(
            "k\tloop\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 2, ") !=
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

TEST_CASE(
    "of two loops with the same math, one after the other, the main loop is the one that copies") {
  const std::string copies =
      "        /*0000*/                   LDGSTS.E [R5], [R2.64] ;\n"
      "        /*0010*/                   FFMA R1, R2, R3, R1 ;\n"
      "        /*0020*/               @P1 BRA 0x0 ;\n";
  const std::string last_tiles =
      "        /*0030*/                   FFMA R1, R2, R3, R1 ;\n"
      "        /*0040*/               @P1 BRA 0x30 ;\n";
  const std::string text = counted("\tFunction : k\n" + copies + last_tiles);
  CHECK(
      text.find("k\tloop\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, ") !=
      std::string::npos);
}

TEST_CASE("a loop over tiles around the loop over K is not the main loop") {
  const std::string text = counted(R"(
	Function : k
        /*0000*/                   MOV R9, RZ ;
        /*0010*/                   LDS.64 R8, [R0] ;
        /*0020*/                   HGMMA.64x256x8.F32.TF32 R24, R4, gdesc[UR8], R24 ;
        /*0030*/                   HGMMA.64x256x8.F32.TF32 R24, R8, gdesc[UR8], R24 ;
        /*0040*/               @P1 BRA 0x10 ;
        /*0050*/                   HGMMA.64x256x8.F32.TF32 R24, R4, gdesc[UR8], R24 ;
        /*0060*/                   FMUL R1, R24, R3 ;
        /*0070*/                   STG.E [R2.64], R1 ;
        /*0080*/               @P2 BRA 0x0 ;
)");
  CHECK(
      text.find("k\tloop\t0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, ") !=
      std::string::npos);
  CHECK(
      text.find("k\tinner\t0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ") !=
      std::string::npos);
}

TEST_CASE("a warp waits once for loads that are under way together, and work before it counts") {
  const std::string text = counted(R"(
	Function : k
        /*0000*/                   LDG.E R1, [R2.64] ;
        /*0010*/                   LDG.E R4, [R2.64+0x10] ;
        /*0020*/                   IADD3 R20, R20, 0x1, RZ ;
        /*0030*/                   STS [R3], R1 ;
        /*0040*/                   STS [R3+0x4], R4 ;
        /*0050*/                   LDS.64 R8, [R0] ;
        /*0060*/                   LDS R10, [R0+0x8] ;
        /*0070*/                   IADD3 R21, R21, 0x1, RZ ;
        /*0080*/                   FFMA R12, R9, R20, R12 ;
        /*0090*/                   LDS R14, [R0+0x10] ;
        /*00a0*/                   FFMA R12, R10, R20, R12 ;
        /*00b0*/                   FFMA R12, R14, R20, R12 ;
        /*00c0*/               @P1 BRA 0x0 ;
)");
  // Global: once, with an LDG and an IADD3 after the first load. Shared: R9 after two instructions,
  // which also brings R10, and R14 after one.
  CHECK(waits_are(text, "loop", "1, 2, 2, 3"));
}

TEST_CASE("a load at the end of the loop is used at its beginning") {
  const std::string text = counted(R"(
	Function : k
        /*0000*/                   FFMA R12, R8, R20, R12 ;
        /*0010*/                   LDS R8, [R0] ;
        /*0020*/                   IADD3 R21, R21, 0x1, RZ ;
        /*0030*/               @P1 BRA 0x0 ;
)");
  CHECK(waits_are(text, "loop", "0, 0, 1, 2"));
}

namespace {

// Of `part`: "stalls, banks".
std::string stalls_and_banks(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\t" + part + "\t") == line.npos) continue;
    const std::string end = line.substr(without_last(line, 3).size() + 2);
    return without_last(end, 1);
  }
  return "";
}

}  // namespace

TEST_CASE("each instruction says how long its warp must wait before the next one") {
  // A loop of four instructions, with 1, 2, 13 and 5 cycles.
  const std::string text = counted(R"(
	Function : k
        /*0000*/                   LDG.E R1, [R2.64] ;        /* 0x000000040a047981 */
                                                              /* 0x000fe20000000a00 */
        /*0010*/                   FFMA R5, R1, R6, R5 ;      /* 0x0000000106057223 */
                                                              /* 0x000fc40007ffe0ff */
        /*0020*/                   IADD3 R7, R7, 0x1, RZ ;    /* 0x0000000107077810 */
                                                              /* 0x000fda0003f04070 */
        /*0030*/               @P1 BRA 0x0 ;                  /* 0xffffffc000007947 */
                                                              /* 0x000fea000383ffff */
)");
  CHECK(stalls_and_banks(text, "loop") == "17, 0");
}

TEST_CASE(
    "a bank reads one register per cycle, and an instruction has three cycles for its reads") {
  const auto banks = [](const std::string& instructions) {
    return stalls_and_banks(
        counted(
            "\tFunction : k\n"
            "        /*0000*/                   LDG.E R1, [R2.64] ;\n" +
            instructions + "        /*0100*/               @P1 BRA 0x0 ;\n"),
        "loop");
  };
  const auto ffmas = [](const std::vector<std::string>& operands) {
    std::string text;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      text += "        /*00" + std::to_string(i + 1) + "0*/                   FFMA " + operands[i] +
              " ;\n";
    }
    return text;
  };
  // One even register more than the bank can read, in each of five instructions; the copy and the
  // branch read nothing. The window takes the first two.
  const std::string even = "R4, R6, R8, R5";
  CHECK(banks(ffmas({even, even})) == "0, 0");
  CHECK(banks(ffmas({even, even, even, even, even})) == "0, 3");
  // A register that stays beside its bank, and one of the other bank.
  const std::string kept = "R4, R6.reuse, R8, R5", odd = "R4, R6, R9, R5";
  CHECK(banks(ffmas({kept, kept, kept, kept, kept})) == "0, 0");
  CHECK(banks(ffmas({odd, odd, odd, odd, odd})) == "0, 3");  // R9 and R5
  CHECK(banks(ffmas({odd, even, odd, even})) == "0, 0");
  // In another place it is read again, but for the one that the last iteration has kept.
  const std::string elsewhere = "R4, R8, R6.reuse, R5";
  CHECK(banks(ffmas({kept, elsewhere, kept, elsewhere, kept})) == "0, 2");
}

TEST_CASE("a tensor core's instruction counts by its shape, and ldmatrix by its matrices") {
  const auto looped = [](const std::string& mma) {
    return counted(
        "\tFunction : k\n"
        "        /*0000*/                   LDGSTS.E [R5], [R2.64] ;\n"
        "        /*0010*/                   LDSM.16.M88.4 R8, [R6] ;\n"
        "        /*0020*/                   LDSM.16.M88.2 R12, [R6] ;\n"
        "        /*0030*/                   LDSM.16.M88 R14, [R6] ;\n"
        "        /*0040*/                   IADD3 R21, R21, 0x1, RZ ;\n"
        "        /*0050*/                   " +
        mma +
        " ;\n"
        "        /*0060*/                   FFMA R30, R11, R13, R30 ;\n"
        "        /*0070*/               @P1 BRA 0x0 ;\n");
  };
  const auto products = [&](const std::string& mma) {
    const std::string text = looped(mma), loop = text.substr(text.find("\tloop\t"));
    const std::string line = loop.substr(0, loop.find('\n'));
    return line.substr(line.rfind(", ") + 2);
  };
  CHECK(products("HMMA.1688.F32.TF32 R4, R8, R12, R4") == "1024");
  CHECK(products("HMMA.1684.F32.TF32 R4, R8, R12, R4") == "512");
  CHECK(products("HMMA.16816.F32.BF16 R4, R8, R12, R4") == "2048");
  CHECK(products("HGMMA.64x128x8.F32.TF32 R24, gdesc[UR4], R24") == "16384");
  CHECK(products("DMMA.884 R4, R8, R12, R4") == "256");
  CHECK(products("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8]") == "0");
  CHECK(products("FFMA R4, R8, R12, R4") == "0");
  const std::string text = looped("HMMA.1688.F32.TF32 R4, R8, R12, R4");
  CHECK(
      text.find("k\tloop\t0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, ") != std::string::npos);
  // The first matrix is wanted after three other instructions, with all others of the three.
  CHECK(waits_are(text, "loop", "0, 0, 1, 3"));
}

}  // namespace model
