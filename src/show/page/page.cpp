#include "show/page/page.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "lab/device.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/recording.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "show/pictures/pictures.h"
#include "show/pictures/svg.h"
#include "show/step/step_command.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

// The page's own files, embedded in the program. page.mk recompiles this file when one of them
// changes. The scripts are in the order in which they need each other.
#define EMBED(name, ...)                                                           \
  asm(".pushsection .rodata\n" #name ": " __VA_ARGS__ "\n.byte 0\n.popsection\n"); \
  extern "C" const char name[] __attribute__((visibility("hidden")))
#define FILE_OF_PAGE(file) ".incbin \"src/show/page/" file "\"\n"

EMBED(page_html, FILE_OF_PAGE("page.html"));
EMBED(page_css, FILE_OF_PAGE("page.css"));
EMBED(
    page_js, FILE_OF_PAGE("words.js") FILE_OF_PAGE("dom.js") FILE_OF_PAGE("rules.js")
                 FILE_OF_PAGE("recording.js") FILE_OF_PAGE("life.js") FILE_OF_PAGE("block_view.js")
                     FILE_OF_PAGE("player.js") FILE_OF_PAGE("compare.js") FILE_OF_PAGE("predict.js")
                         FILE_OF_PAGE("calculators.js") FILE_OF_PAGE("page.js"));
#undef FILE_OF_PAGE
#undef EMBED

namespace page {

namespace {

// JSON within a script element: no text in it can end the element. Blanks between its parts go.
std::string within_script(std::string_view json) {
  std::string safe;
  bool is_text = false, is_escaped = false;
  for (const char c : json) {
    if (c == '"' && !is_escaped) is_text = !is_text;
    is_escaped = c == '\\' && !is_escaped;
    if (!is_text && (c == ' ' || c == '\n')) continue;
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  }
  return safe;
}

// Without the lines that are only a comment and the blanks before each line: a fifth of the page.
std::string without_comments(std::string_view script) {
  std::string text;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size() - 1);
    std::string_view line = script.substr(0, end + 1);
    script.remove_prefix(end + 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with("//") && line != "\n") text += line;
  }
  return text;
}

}  // namespace

std::string lesson_html(const LessonPage& lesson) {
  const std::map<std::string_view, std::string> parts = {
      {"title", pictures::xml_escaped(lesson.title)},
      {"style", without_comments(page_css)},
      {"pictures", lesson.pictures},
      {"charts", lesson.charts},
      {"data", within_script(data_of(lesson))},
      {"script", without_comments(page_js)}};
  // Inserted text is not searched for further places.
  std::string html;
  std::string_view rest = page_html;
  for (std::size_t at = rest.find("{{"); at != rest.npos; at = rest.find("{{")) {
    const std::size_t end = rest.find("}}", at);
    html += rest.substr(0, at);
    html += parts.at(rest.substr(at + 2, end - at - 2));
    rest.remove_prefix(end + 2);
  }
  return html.append(rest);
}

namespace {

// M, N and K: a few tiles of every stage, and more than the four places of a ring. The paper GPU
// has many more warps for as many threads.
constexpr int kSide = 256, kDepth = 192, kPaperSide = 32;
constexpr std::size_t kMostSteps = 50'000;  // of a block; nobody steps through more

ShownScene shown(const lab::Row& row, model::Recording recording, const lab::Run& run) {
  const model::Variant& v = *row.variant;
  const std::string name = text::printed("stage %d, %s (%s)", row.number, row.name.c_str(), v.name);
  return {
      .name = name,
      .idea = model::lesson_of(*row.stage, v).idea,
      .stage = row.number,
      .M = run.M,
      .N = run.N,
      .K = run.K,
      .BM = v.BM,
      .BN = v.BN,
      .BK = v.BK,
      .scene = step::scene_of(std::move(recording), name, "", run.M, run.N, run.K)};
}

}  // namespace

int write_page(const flags::Flags& flags, const model::StageTable& traced) {
  const auto refuse_if = [&](const std::string& problem) {
    if (problem.empty()) return;
    throw model::Refusal("--page " + text::echoed(flags.page) + ": " + problem);
  };
  refuse_if(text::problem_of_writing(flags.page));  // checked before the work, not after it
  lab::Run run = lab::new_run(flags, false, "");
  flags::Flags sized = flags;
  const bool has_own_size = !flags.a.empty() || flags.size || (flags.m && flags.n);
  if (flags.a.empty() && !flags.size) {
    const bool is_real = model::has_clock(run.gpu);
    sized.size = is_real ? kSide : kPaperSide;
    sized.k = flags.k.value_or(is_real ? kDepth : kPaperSide);
  }
  auto blocks = machine::Blocks::kSample;
  if (!has_own_size && flags.variant.empty()) {
    sized.variant = flags::kFirstVariant;
    blocks = machine::Blocks::kFirst;  // it cuts no tile, so all blocks are alike
  }
  const lab::Problem p = lab::load_problem(sized, false);
  if (p.results() == 0) throw model::Refusal("--page: C has no elements, so no kernel runs");
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;

  std::vector<lab::Row> rows;
  std::vector<model::Recording> recordings;
  for (const model::Stage* stage : flags::select_stages(flags.stage, traced.stages)) {
    if (stage->variants.empty() || !model::is_traceable(*stage, run.gpu)) continue;
    const model::Variant& variant =
        flags::select_variant(*stage, sized.variant, run.gpu, p.M, p.N, p.K);
    auto [row, recording] =
        pictures::recorded_row(traced, *stage, variant, p, run.gpu, blocks, kMostSteps);
    const lab::Launched launched = p.launched(variant);
    row.aligned = launched.aligned;
    if (model::why_not_run(*stage, run.gpu).empty()) {
      row.occupancy = lab::occupancy_of({}, run, variant, launched.kernel);
    }
    rows.push_back(std::move(row));
    recordings.push_back(std::move(recording));
  }
  // For a race, if there is another stage, a clock and room for its C.
  std::optional<lab::LongProduct> large;
  const lab::ProblemSize sides{kRaceSide, kRaceSide, kRaceSide};
  const bool has_room = lab::LongProduct::bytes_needed(sides) < lab::available_memory();
  if (rows.size() > 1 && model::has_clock(run.gpu) && has_room) large.emplace(flags, sides);
  LessonPage lesson;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lesson.scenes.push_back(shown(rows[i], std::move(recordings[i]), run));
    lesson.predictions.push_back(
        prediction_data(run, rows[i], large ? race_data(traced, run, rows[i], *large) : "null"));
  }
  if (lesson.scenes.empty()) {
    throw model::Refusal(
        "--page and --stage " + text::echoed(flags.stage) +
        ": there are no warps to show; choose a stage from 1 on, and for stages on tensor cores a "
        "GPU "
        "with warps of 32");
  }
  if (lesson.scenes.size() > 1) {
    lesson.calculators = calculator_data(traced);
    for (const auto& [gpu, charts] : pictures::draw_charts(traced)) {
      lesson.charts += std::string("<details") + (lesson.charts.empty() ? " open" : "") +
                       "><summary>" + pictures::xml_escaped(gpu) + "</summary>" +
                       pictures::svg_on_page(charts) + "</details>";
    }
  }
  lesson.title = lesson.scenes.size() == 1 ? lesson.scenes[0].name
                                           : "gemm_steps: from three loops to tensor cores";
  const std::string html = lesson_html(lesson);
  refuse_if(text::write_file(flags.page, {html}));
  std::printf(
      "%s: %zu stage%s, %s KB; open it in any browser\n", text::echoed(flags.page).c_str(),
      lesson.scenes.size(), lesson.scenes.size() == 1 ? "" : "s",
      text::grouped(static_cast<long long>(html.size() / 1000)).c_str());
  return 0;
}

}  // namespace page
