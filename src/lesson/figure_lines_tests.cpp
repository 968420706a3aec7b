#include "lesson/figure_lines.h"

#include <doctest/doctest.h>

#include <fstream>

#include "testing/folder.h"

namespace lesson {

TEST_CASE("a line that shows a figure is updated to its finding") {
  Lines text{"# t", "![old](figures/gpu.svg)", "words", "![same](figures/b.svg)"};
  const Findings findings{{"figures/gpu.svg", "new"}, {"figures/b.svg", "same"}};
  CHECK(renew_figure_lines(text, findings).empty());
  CHECK(text == Lines{"# t", "![new](figures/gpu.svg)", "words", "![same](figures/b.svg)"});
}

TEST_CASE("the first of the stages that share a figure shows it; the others' lines must go") {
  Lines text{
      "![old](figures/stage3-banks.svg)", "![old](figures/stage4-banks.svg)",
      "![old](figures/stage1-banks.svg)", "![old](figures/stage14-banks.svg)"};
  const Findings findings{{"figures/stage3-4-banks.svg", "both"}, {"figures/new.svg", "fresh"}};
  const Lines left = renew_figure_lines(text, findings);
  CHECK(
      text == Lines{
                  "![both](figures/stage3-4-banks.svg)", "![old](figures/stage4-banks.svg)",
                  "![old](figures/stage1-banks.svg)", "![old](figures/stage14-banks.svg)"});
  REQUIRE(left.size() == 4);
  CHECK(
      left[0] ==
      "line 2: figures/stage4-banks.svg is figures/stage3-4-banks.svg now, which line 1 shows; "
      "remove the line");
  CHECK(
      left[1] ==
      "line 3: figures/stage1-banks.svg no longer exists; show another figure, or remove the "
      "line");
  CHECK(left[2].starts_with("line 4: figures/stage14-banks.svg no longer exists"));
  CHECK(left[3] == "no line shows this figure: ![fresh](figures/new.svg)");
}

TEST_CASE("a figure that stages no longer share belongs to each stage again") {
  Lines text{"![old](figures/stage3-4-banks.svg)"};
  const Findings findings{{"figures/stage3-banks.svg", "three"}, {"figures/stage4-banks.svg", "4"}};
  CHECK(
      renew_figure_lines(text, findings) ==
      Lines{"no line shows this figure: ![4](figures/stage4-banks.svg)"});
  CHECK(text == Lines{"![three](figures/stage3-banks.svg)"});
}

TEST_CASE("a figure's finding is read from its description") {
  const testing::Folder folder;
  std::ofstream(folder.path() / "a.svg") << "<svg>\n<desc>it&#39;s &lt; &amp;lt; it</desc>\n";
  std::ofstream(folder.path() / "b.txt") << "<desc>no figure</desc>\n";
  const Findings findings = findings_in(folder.path());
  REQUIRE(findings.size() == 1);
  CHECK(findings.at((folder.path() / "a.svg").string()) == "it's < &lt; it");
}

}  // namespace lesson
