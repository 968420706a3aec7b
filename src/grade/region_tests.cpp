#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

// What build/grade/assemble makes of an answer, byte by byte: src/grade/check.sh cannot say such
// files in its lists of edits.
namespace grade {

namespace {

struct Assembled {
  int exit_code;
  std::string said;
};

const std::string kBefore = "void f(int K) {\n  // ---- your code ----\n";
const std::string kBehind = "  // ---- end of your code ----\n}\n";

// `answer` put into an empty kernel; its name is left out of what is said.
Assembled assembled(const std::string& answer) {
  const testing::Folder folder;
  folder.write("kernel.cu", kBefore + kBehind);
  folder.write("mine.cu", answer);
  const testing::Output output = testing::run(
      "cd '" + folder.path().string() + "' && '" + (testing::built() / "grade/assemble").string() +
      "' kernel.cu mine.cu 2>&1");
  return {output.exit_code, output.out};
}

Assembled of_region(const std::string& region) {
  return assembled(kBefore + region + kBehind);
}

}  // namespace

TEST_CASE("an answer may come from Windows, begin with a byte order mark and end without a line") {
  const std::string answer = kBefore + "  K = 1;\n" + kBehind;
  std::string windows;
  for (const char c : answer) windows += c == '\n' ? "\r\n" : std::string(1, c);
  const Assembled plain = assembled(answer);
  REQUIRE(plain.exit_code == 0);
  CHECK(plain.said.find("  K = 1;\n") != plain.said.npos);
  CHECK(assembled(windows).said == plain.said);
  CHECK(assembled("\xef\xbb\xbf" + answer).said == plain.said);
  CHECK(assembled(answer.substr(0, answer.size() - 3)).said == plain.said);
  // With nothing but the region the lines have other numbers.
  const std::string alone = answer.substr(answer.find("  // ----"));
  CHECK(assembled("\xef\xbb\xbf" + alone.substr(0, alone.size() - 3)).exit_code == 0);
}

TEST_CASE("an answer with nothing between its marked lines is told so, with exit code 1") {
  for (const char* region : {"", "\n", "  \t\n\n"}) {
    const Assembled nothing = of_region(region);
    CHECK(nothing.exit_code == 1);
    CHECK(nothing.said.starts_with("mine.cu: nothing written yet; "));
  }
  const testing::Folder folder;
  for (const char* text : {"", " \r\n\t\n"}) {
    folder.write("mine.txt", text);
    for (const char* exercise : {"1", "2", "7"}) {
      const testing::Output graded = testing::run(
          "BUILD='" + testing::built().string() + "' src/grade/grade.sh " + exercise + " '" +
          folder / "mine.txt" + "' 2>&1");
      CHECK(graded.exit_code == 1);
      CHECK(graded.out.find("mine.txt: nothing written yet; ") != graded.out.npos);
    }
  }
}

TEST_CASE("a region is a scope of its own") {
  const std::string said = of_region("  const int K = 1;  // no end\n").said;
  const std::size_t code = said.find("const int K");
  REQUIRE(code != said.npos);
  CHECK(said.rfind("{\n#line", code) > said.find("your code ----"));
  CHECK(said.find("\n}\n#line", code) < said.find("end of your code"));
}

TEST_CASE("a byte that ends a line for some is refused, in a comment too") {
  for (const char c : {'\r', '\v', '\f', '\b', '\x1b'}) {
    const Assembled refused = of_region(std::string("  K = 1; // ") + c + " exit(0);\n");
    CHECK(refused.exit_code == 2);
    CHECK(
        refused.said == "mine.cu:3: a control character, byte " + std::to_string(c) +
                            ", stands in this line; type it anew\n");
  }
}

TEST_CASE("comments may hold what code may not") {
  CHECK(
      of_region("  // größer – \"it's\" 100 % C:\\temp\\x $ @ #define ::exit(0) asm\n").exit_code ==
      0);
  CHECK(of_region("  /* 行 \\alpha /* ' */ K = 1;\n").exit_code == 0);
  CHECK(of_region("  K = 1; // to \\\n").exit_code == 2);
  CHECK(of_region("  K = 1; // to \\ \t\n").exit_code == 2);
  CHECK(of_region("  int größer = 1;\n").exit_code == 2);
}

TEST_CASE("shuffles, votes and atomics are refused in a sentence, and names like theirs are not") {
  for (const char* name :
       {"__shfl_sync", "__shfl_xor_sync", "__shfl", "__ballot_sync", "__any_sync", "__all",
        "__match_any_sync", "__reduce_add_sync", "__activemask", "__syncthreads_or",
        "__syncthreads_count", "atomicAdd", "atomicCAS", "atomicExch_block"}) {
    CAPTURE(name);
    const Assembled refused = of_region("  K = 1;\n  K = " + std::string(name) + "(K);\n");
    CHECK(refused.exit_code == 2);
    CHECK(
        refused.said == "mine.cu:4: " + std::string(name) +
                            ": shuffles, votes and atomics hand values from thread to thread past "
                            "what the targets count; use __shared__ and barriers\n");
  }
  CHECK(of_region("  int atomic = 1, all_rows = 2, shfl = 3, reduce_k = 4;\n").exit_code == 0);
  CHECK(of_region("  __syncthreads(); __syncwarp();\n").exit_code == 0);
}

TEST_CASE("what a region declares it may call, and nothing else") {
  for (const char* code :
       {"const auto random = [](int i) { return i; }; random(K);",
        "auto&& index = [](auto&& self, int i) -> int { return i ? self(self, i - 1) : 0; }; "
        "index(index, K);",
        "struct Place { int row; int next() const { return row + 1; } }; Place at{K}; at.next();",
        "using tile_t = float[4][4]; tile_t tile = {}; typedef int index_t; index_t(K);",
        "enum class Step : int { one = 1 }; K = static_cast<int>(Step::one);",
        "if (not (K < 1) and (K > 2)) K = (K == 3) or (K == 4);",
        "std::size_t k = 0xAB'CD'EF; const std::uint32_t n = 1'000'000u;",
        "struct At { At(int r, int c) : row(r), col(c) {} int row, col; }; const At at(K, 1);",
        "float sum(0.0f), *to(&sum), more(1.0f); for (int i(0), j(1); i < j; ++i) more += i;",
        "const auto all = [](auto&& f, auto... i) { f(i...); }; all([](int) {}, K);",
        "auto twice = [=] __device__ (int i) { return 2 * i; }; twice(K);",
        "[[maybe_unused]] static const int pad = 4; static constexpr int width = 8;",
        "const dim3 block = blockIdx; const uint3 thread = threadIdx;"}) {
    CAPTURE(code);
    CHECK(of_region(std::string("  ") + code + "\n").exit_code == 0);
  }
  for (const char* code :
       {"random();", "K = index(K, 1);", "float x = min(K, drand48());", "std::min(1, 2);",
        "Step::one;", "namespace a = b;", "using std::abs;", "static int kept = 0;",
        "[[gnu::section(K)]] int x;", "int a = 1'a';"}) {
    CAPTURE(code);
    CHECK(of_region(std::string("  ") + code + "\n").exit_code == 2);
  }
}

TEST_CASE("#pragma unroll may be written in every way, and no other line of the preprocessor") {
  for (const char* line :
       {"#pragma unroll", " # pragma  unroll 4 // four", "#pragma unroll (BK)",
        "\t#pragma unroll(TM)"}) {
    CAPTURE(line);
    CHECK(of_region(std::string(line) + "\n  for (;;) {}\n").exit_code == 0);
  }
  for (const char* line :
       {"#pragma unroll /* to", "#pragma once", "#pragma", "#", "#define K 1",
        "#pragma unroll _Pragma(\"x\")", "# line 1"}) {
    CAPTURE(line);
    CHECK(of_region(std::string(line) + "\n  for (;;) {}\n").exit_code == 2);
  }
  CHECK(
      of_region("#define K 1\n").said.find("write a constexpr constant or a lambda") !=
      std::string::npos);
}

}  // namespace grade
