#include "school/lesson/quoted.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "testing/golden.h"
#include "testing/program.h"

namespace lesson {

namespace {

// A recorded ladder, where the headings are right-aligned, and one is left-aligned.
const char* const kLadder = R"(run      2026-11-22, ./gemm_steps

                      time TFLOP/s % of error vs
 # stage                ms       cuBLAS CPU
 1 naive               276   0.499 0.97 1e-6 ok
11 balanced – CPU     2.58    53.3  104 3e-7 ok
   cuBLAS fp32        2.68    51.2  100 1e-6 ok

TFLOP/s are   53.0 in a note, of 335544320 requests
)";

Quoted of(const std::string& text, const Lines& sources) {
  const testing::Folder folder;
  folder.write("h200-4096.txt", kLadder);
  folder.write("log.md", "A\n| ring | 1 | 5,000 x 2 |\nB\n| ring | 3 |\nIt gains\n  1.14 here.\n");
  return quoted("t.md", text, sources, folder.path());
}

// The number that stands for {mark} in the text.
std::string number(const std::string& mark) {
  const std::string text = of("It is 7 so.", {"# t.md", "It is {" + mark + "} so."}).text;
  return text.substr(6, text.size() - 10);
}

std::string refusal(const std::string& text, const Lines& sources) {
  try {
    of(text, sources);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a quoted number is computed from its source, or refused, as in the golden file") {
  std::string text;
  for (const char* mark :
       {"[4096 | 11]", "[4096 | 1 | ms]", "[4096 | 11 | cuBLAS]", "[4096 | cuBLAS fp32 | cuBLAS]",
        "[4096 | 11 | error]", "[4096 | 11 | 2]", "[4096 | ...in a note | 1]",
        "[log.md | ...ring | 2]", "[log.md | B > ...ring | 1]", "[log.md | ...gains | 1]",
        "1 + 2 * 3 - 8 / 4 / 2 : 0", "(1 + 2) * 3 : 1", "[4096 | 11] / [4096 | 1] : 1",
        "min(3, [4096 | 11], 2 + 5) : 0", "max(3, [4096 | 11], 7) : 0", "[4096 | 11] * 100 : -2",
        "1234.56 : 1", "99.85 : 1", "1 / 2048 : e1"}) {
    text += std::string(mark) + " is " + number(mark) + "\n";
  }
  for (const std::string mark :
       {"[4096 | 12]", "[4096 | 11 | W]", "[log.md | B | 1]", "[4096]", "1 / 2", "1 / : 2",
        "(1 : 2", "1 2 : 2"}) {
    text += mark + " is refused: " + refusal("It is 7.", {"# t.md", "is {" + mark + "}."}) + "\n";
  }
  text += refusal("It makes 5.", {"# t.md", "They make {5 : 0}."}) + "\n" +
          refusal("A 1. B 2.", {"# t.md", "B {2 : 0}", "A {1 : 0}"}) + "\n";
  CHECK(refusal("It is 7.", {"# t.md", "is {[5 | 1]}."}).starts_with("cannot read "));
  testing::compare_with_golden("quoted", {{"numbers, then refusals", text}});
}

TEST_CASE("only outdated numbers are updated, and those that moved by more than 3 % are named") {
  const std::string text = "One makes 0.499\nand 53.2 TFLOP/s,\n  53 times 9.\n";
  const Lines sources{
      "# u.md", "and {[4096 | 1]}", "# t.md",
      "makes {[4096 | 1]} and {[4096 | 11]} TFLOP/s, {2 * 25 : 0} times {9 : 0}."};
  const Quoted found = of(text, sources);
  CHECK(found.text == "One makes 0.499\nand 53.3 TFLOP/s,\n  50 times 9.\n");
  const std::string words = "makes 0.499 and 53.2 TFLOP/s, 53 times 9.";
  CHECK(found.outdated == Lines{"2: 53.2 is 53.3: " + words, "3: 53 is 50: " + words});
  CHECK(found.moved == Lines{found.outdated[1]});
  CHECK(found.unsourced.empty());
}

TEST_CASE("a measurement is a number with a unit or a decimal point, outside of code") {
  const auto unsourced = [](const std::string& text) { return of(text, {}).unsourced.size(); };
  CHECK(
      of("The kernel makes **53**\nTFLOP/s.", {}).unsourced ==
      Lines{"The kernel makes **53** TFLOP/s."});
  CHECK(unsourced("9 ms, 3 times 5, in 2.5; 99 %, 700 W, 3e-4, 1,024 MHz\n") == 7);
  CHECK(unsourced("4096³, 32 rows, 2^-11, 128x128, 2.5D, 3.3.2, question 6.1, H200.\n") == 0);
  CHECK(unsourced("# 1.5\n`1.5` [a](b1.5)\n![1.5](c)\n```console\n1.5\n```\n") == 0);
  CHECK(unsourced("```text\n1.5\n```\n") == 1);
  CHECK(unsourced("| n | TFLOP/s |\n|---|---|\n| 4 | **17** |\n\n| 5 |\n") == 2);
  CHECK(unsourced("| n | bytes |\n|---|---|\n| 4 | 17 |\n") == 0);
  CHECK(
      of("A6000: 2.98 to 8.47, 5.1.", {"# t.md", "A6000: 2.98 to 8.47 <- B"}).unsourced.size() ==
      1);
}

}  // namespace lesson
