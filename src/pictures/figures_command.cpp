#include "pictures/figures_command.h"

#include <cstdio>
#include <filesystem>
#include <stdexcept>

#include "lab/measure.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "text/echoed.h"
#include "text/file.h"
#include "trace/recorder.h"

namespace pictures {

namespace {

namespace fs = std::filesystem;

constexpr const char* kGpu = "H200";  // whose recorded times the ladder's pictures show

// The default variant of that stage, on some of its blocks.
lab::Measurement measured(
    const model::StageTable& table, const model::Stage& stage, const lab::Problem& p,
    trace::Recorder* recorder = nullptr) {
  lab::Means means{{model::find_gpu(kGpu), machine::Blocks::kSample}};
  means.machine.recorder = recorder;
  lab::Floats C;
  return lab::measure(p, {.traced = lab::gemm_of(table, stage.variants[0])}, means, C);
}

// What the first block does with so little of K that a picture can show it.
TracedStage traced_stage(const model::StageTable& table, const model::Stage& stage) {
  const lab::Problem p = lab::random_problem({256, 256, 64}, 1, 0, 1);
  trace::Recorder recorder{.blocks = {0}};
  measured(table, stage, p, &recorder);
  return {
      &stage, &stage.variants[0],
      pictures::requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)};
}

lab::Row counted(const model::StageTable& table, const model::Stage& stage, int size) {
  lab::Row row{measured(table, stage, lab::random_problem({size, size, size}, 1, 0, 1))};
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &stage.variants[0];
  return row;
}

void make_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (fs::is_directory(directory, error)) return;
  throw model::Refusal(
      "--figures " + text::echoed(directory) +
      ": is no directory and cannot be made one; give a directory that you may write to");
}

void refuse_if(const std::string& directory, const std::string& what, const std::string& problem) {
  if (problem.empty()) return;
  throw model::Refusal("--figures " + text::echoed(directory) + ": " + what + " " + problem);
}

}  // namespace

std::vector<Picture> draw_pictures(const model::StageTable& traced) {
  std::vector<Picture> pictures;
  std::vector<TracedStage> stages;
  lab::Run run{};
  run.M = run.N = run.K = 256;
  run.gpu = *model::find_gpu(kGpu);
  for (const model::Stage& stage : traced.stages) {
    if (stage.variants.empty()) continue;
    run.rows.push_back(counted(traced, stage, run.K));
    const TracedStage& latest = stages.emplace_back(traced_stage(traced, stage));
    pictures.push_back(draw_tiles(latest));
    pictures.push_back(draw_coalescing(latest));
    if (const auto banks = draw_banks(latest)) pictures.push_back(*banks);
    const bool copies_ahead = latest.variant->pipeline > 1;
    if (copies_ahead && stages.size() > 1) {
      pictures.push_back(draw_pipeline(stages[stages.size() - 2], latest));
    }
  }
  const std::vector<RecordedLadder> recorded = recorded_h200();
  pictures.push_back(draw_layouts());
  pictures.push_back(draw_staircase(traced.stages, recorded));
  pictures.push_back(draw_roofline(run, recorded[1]));
  pictures.push_back(draw_loads(run));
  return pictures;
}

void write_pictures(const std::string& directory, const std::vector<Picture>& pictures) {
  make_directory(directory);
  for (const Picture& picture : pictures) {
    const std::string name = picture.name + ".svg";
    refuse_if(directory, name, text::write_file(fs::path(directory) / name, {picture.svg}));
  }
}

void draw_figures(const std::string& directory, const model::StageTable& traced) {
  // Said before the work and not after it.
  make_directory(directory);
  refuse_if(directory, "a picture", text::problem_of_writing(fs::path(directory) / "tiles.svg"));
  const std::vector<Picture> pictures = draw_pictures(traced);
  write_pictures(directory, pictures);
  for (const Picture& picture : pictures) {
    std::printf("%s.svg: %s\n", picture.name.c_str(), picture.finding.c_str());
  }
}

}  // namespace pictures
