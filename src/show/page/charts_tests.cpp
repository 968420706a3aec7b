// The numbers of the roofline and the staircase, and the two in a browser.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "lab/problem.h"
#include "show/page/data.h"
#include "show/pictures/recorded_gpus.h"
#include "testing/browser.h"
#include "testing/golden.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace page {
namespace {

using testing::contents;

TEST_CASE("the numbers of the charts are those of their golden file") {
  pictures::RecordedGpu h200 = pictures::recorded_gpus().front();
  h200.ladders = {pictures::main_run(h200.ladders)};
  testing::compare_with_golden(
      "chart-data", {{"at the ladder's size", chart_data(stage_table_traced, {h200})}});
}

// The charts of this data in a browser, on a narrow screen, and words for its console.
testing::Browser& open_charts(const testing::Folder& folder, const std::string& data) {
  std::string script;
  for (const char* file : {"words.js", "dom.js", "charts.js"}) {
    script += contents(std::string("src/show/page/") + file);
  }
  folder.write(
      "charts.html",
      "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>charts</title><style>" +
          contents("src/show/page/calculators.css") + contents("src/show/page/charts.css") +
          "</style><main id=root></main><script>'use strict';\n" + script +
          "\nstartCharts(document.getElementById('root'), " + data +
          ", words);\n"
          "const of = (name) => document.querySelector(`[aria-labelledby=chart-${name}]`);"
          "const choose = (name, i, value) => {"
          "  const select = of(name).querySelectorAll('select')[i];"
          "  select.value = value; select.dispatchEvent(new Event('change'));"
          "};</script>");
  testing::Browser& browser = testing::shared_browser();
  browser.open(folder / "charts.html", 390, 800);
  return browser;
}

TEST_CASE("the charts show their findings, and the numbers of each mark by keyboard") {
  if (testing::there_is_no_browser()) return;
  const testing::Folder folder;
  testing::Browser& browser = open_charts(folder, chart_data(stage_table_traced));
  CHECK(browser.complaints() == std::vector<std::string>{});
  CHECK(browser.evaluate("document.documentElement.scrollWidth <= 390") == "true");
  CHECK(
      browser.evaluate("(({parentElement: {scrollWidth, clientWidth}}) => scrollWidth <= "
                       "clientWidth)(of('staircase').querySelector('svg'))") == "true");

  const auto recorded = pictures::recorded_h200();
  const std::string cublas = text::significant(pictures::main_run(recorded).of(-1).tflops);
  CHECK(browser.text("of('staircase').querySelector('.finding').textContent")
            .ends_with("of cuBLAS in fp32, which reaches " + cublas + " TFLOP/s."));
  browser.evaluate("of('staircase').querySelector('[tabindex=\"0\"].chart-mark').focus()");
  for (const char* key : {"End", "Home", "ArrowDown", "ArrowDown"}) browser.press(key);
  const auto stage_2 = pictures::main_run(recorded).of(2);
  CHECK(
      browser.text("of('staircase').querySelector('.picked').textContent") ==
      "Stage 2, coalesced: " + text::significant(stage_2.tflops) + " TFLOP/s, " +
          text::significant(stage_2.cublas_percent) + " % of cuBLAS in fp32. It is " +
          text::significant(stage_2.times_before) + " times as fast as the stage before.");
  CHECK(
      browser.evaluate("of('staircase').querySelectorAll('tbody tr').length") ==
      std::to_string(stage_table_plain.stages.size()));
  // A stage of tf32 stands beside cuBLAS in tf32.
  const double tf32 = pictures::main_run(recorded).of(pictures::kCublasTf32).tflops;
  browser.press("End");
  for (int stage = 21; stage > 16; --stage) browser.press("ArrowUp");
  CHECK(
      browser.text("of('staircase').querySelector('.picked').textContent")
          .find(
              text::significant(100 * pictures::main_run(recorded).of(16).tflops / tf32) +
              " % of cuBLAS in tf32.") != std::string::npos);
  // No label is cut.
  for (const char* chart : {"staircase", "roofline"}) {
    CHECK(
        browser.text(
            std::string("(() => { const svg = of('") + chart +
            "').querySelector('svg'), whole = svg.getBoundingClientRect();"
            "return [...svg.querySelectorAll('text')].filter((one) => { const {left, right} = "
            "one.getBoundingClientRect(); return left < whole.left - 1 || right > whole.right + 1; "
            "})"
            ".map((one) => one.textContent).join(); })()") == "");
  }
  // No label lies on another.
  CHECK(
      browser.text(
          "(() => { const boxes = [...of('staircase').querySelectorAll('svg text')].map((one) => "
          "[one.textContent, one.getBoundingClientRect()]);"
          "return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => a.left < "
          "b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom)"
          ".map(([other]) => text + ' on ' + other)).join(); })()") == "");

  browser.evaluate("choose('roofline', 1, 0)");
  browser.evaluate("of('roofline').querySelector('[tabindex=\"0\"].chart-mark').focus()");
  for (const char* key : {"ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"}) {
    browser.press(key);
  }
  CHECK(
      browser.text("of('roofline').querySelector('.picked').textContent")
          .find("Stage 5, 2D thread tiling, tiles 64x64x8-8x4: ") == 0);
  CHECK(browser.complaints() == std::vector<std::string>{});
}

TEST_CASE("if several GPUs are recorded, the reader can choose one in the charts") {
  if (testing::there_is_no_browser()) return;
  const pictures::RecordedGpu& h200 = pictures::recorded_gpus().front();
  // Another one, at other sizes, which lacks the last stages.
  pictures::RecordedGpu other{*model::find_gpu("RTX 4090"), {}};
  for (const int size : {1024, 2000}) {
    other.ladders.push_back({size, {{-1, 60, 100, 0}, {1, 2, 4, 0}, {2, 6, 10, 3}}});
  }
  const testing::Folder folder;
  testing::Browser& browser = open_charts(folder, chart_data(stage_table_traced, {h200, other}));
  const auto sizes = [&](const std::string& chart) {
    return browser.text(
        "[...of('" + chart +
        "').querySelectorAll('select')[1].options]"
        ".map((option) => option.textContent).join(' ')");
  };
  CHECK(browser.text("of('roofline').querySelector('.finding').textContent")
            .starts_with("On the H200 at 4,096 x "));
  browser.evaluate("choose('roofline', 1, 1), choose('roofline', 0, 1), choose('staircase', 0, 1)");
  CHECK(sizes("roofline") == "1,024 2,000");
  // 1024 is there, too, and 4096 is not.
  CHECK(browser.text("of('roofline').querySelector('.finding').textContent")
            .starts_with("On the RTX 4090 at 1,024 x "));
  CHECK(
      browser.text("of('staircase').querySelector('.finding').textContent") ==
      "On the RTX 4090 at 2,000 x 2,000 x 2,000 the stages climb from 2 TFLOP/s (stage 1) to 6 "
      "TFLOP/s (stage 2). That is 10 % of cuBLAS in fp32, which reaches 60 TFLOP/s.");
  CHECK(browser.evaluate("of('roofline').querySelectorAll('.chart-dot').length") == "2");
  browser.evaluate("choose('staircase', 0, 0)");
  CHECK(browser.text("of('staircase').querySelector('.finding').textContent")
            .starts_with("On the H200 at 4,096 x "));
  CHECK(browser.complaints() == std::vector<std::string>{});
}

}  // namespace
}  // namespace page
