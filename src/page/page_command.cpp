#include "page/page_command.h"

#include <cstdio>
#include <utility>
#include <vector>

#include "flags/flags.h"
#include "lab/device.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "page/calculator_data.h"
#include "page/chart_data.h"
#include "page/html.h"
#include "page/predictions.h"
#include "page/scene_data.h"
#include "step/step_command.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"
#include "trace/recorder.h"
#include "trace/source_lines.h"

namespace page {

namespace {

// M, N and K: a few tiles of every stage. The paper GPU has many more warps for as many threads.
constexpr int kSide = 128, kPaperSide = 32;
constexpr std::size_t kMostSteps = 50'000;  // of a block; nobody plays more

// A stage as it was measured, with its first block.
struct Measured {
  lab::Row row;
  model::Recording recording;
};

Measured measured(
    const model::StageTable& traced, const model::Stage& stage, const model::Variant& variant,
    const lab::Problem& p, const lab::Run& run) {
  trace::Recorder recorder{.blocks = {0}, .most_events = kMostSteps};
  lab::Means means{{&run.gpu, machine::Blocks::kSample}};
  means.machine.recorder = &recorder;
  lab::Floats C;
  lab::Row row{lab::measure(p, {.traced = lab::gemm_of(traced, variant)}, means, C)};
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  const lab::Launched launched = p.launched(traced, variant);
  row.aligned = launched.aligned;
  row.variant = &launched.variant;
  if (model::why_not_run(stage, run.gpu).empty()) {
    row.occupancy = lab::occupancy_of({}, run, *row.variant, launched.kernel);
  }
  return {std::move(row), std::move(recorder.launches.at(0))};
}

ShownScene shown(const lab::Row& row, model::Recording recording, const lab::Run& run) {
  const model::Variant& variant = *row.variant;
  ShownScene scene;
  scene.name = text::printed("stage %d, %s (%s)", row.number, row.name.c_str(), variant.name);
  scene.idea = variant.contrast != nullptr ? variant.contrast->idea : row.stage->idea;
  scene.stage = row.number;
  scene.M = run.M;
  scene.N = run.N;
  scene.K = run.K;
  scene.BM = variant.BM;
  scene.BN = variant.BN;
  scene.BK = variant.BK;
  scene.multiplier = variant.multiplier;
  scene.scene = step::scene_of(std::move(recording), scene.name, "", run.M, run.N, run.K);
  return scene;
}

}  // namespace

int write_page(const flags::Flags& flags, const model::StageTable& traced) {
  const auto refuse_if = [&](const std::string& problem) {
    if (problem.empty()) return;
    throw model::Refusal("--page " + text::echoed(flags.page) + ": " + problem);
  };
  refuse_if(text::problem_of_writing(flags.page));  // said before the work and not after it
  lab::Run run = lab::new_run(flags, false, "");
  flags::Flags sized = flags;
  if (flags.a.empty() && !flags.size) sized.size = model::has_clock(run.gpu) ? kSide : kPaperSide;
  const lab::Problem p = lab::load_problem(sized, false);
  if (p.results() == 0) throw model::Refusal("--page: C has no elements, so no kernel runs");
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;

  std::vector<lab::Row> rows;
  std::vector<model::Recording> recordings;
  for (const model::Stage* stage : flags::select_stages(flags.stage, traced.stages)) {
    if (stage->variants.empty() || !model::is_traceable(*stage, run.gpu)) continue;
    const model::Variant& variant = flags::select_variant(*stage, flags.variant, run.gpu, p.M, p.N);
    Measured one = measured(traced, *stage, variant, p, run);
    rows.push_back(std::move(one.row));
    recordings.push_back(std::move(one.recording));
  }
  trace::look_up_lines(recordings);
  Lesson lesson;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lesson.scenes.push_back(shown(rows[i], std::move(recordings[i]), run));
    lesson.predictions.push_back(prediction_data(run, rows[i]));
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
    lesson.charts = chart_data(traced);
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
