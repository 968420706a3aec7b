#include "pictures/figures_command.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "lab/device.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/ceiling.h"
#include "model/refusal.h"
#include "pictures/pace.h"
#include "pictures/recorded_gpus.h"
#include "pictures/ring.h"
#include "pictures/twins.h"
#include "pictures/warp_steps.h"
#include "pictures/warp_times.h"
#include "text/echoed.h"
#include "text/file.h"
#include "trace/recorder.h"

namespace pictures {

namespace {

namespace fs = std::filesystem;

constexpr const char* kGpu = "H200";  // whose recorded times the ladder's pictures show

// The default variant of that stage, on some of its blocks; `recorder` has the first.
lab::Measurement measured(
    const model::StageTable& table, const model::Stage& stage, const lab::Problem& p,
    trace::Recorder* recorder) {
  lab::Means means{{model::find_gpu(kGpu), machine::Blocks::kSample}};
  means.machine.recorder = recorder;
  lab::Floats C;
  return lab::measure(p, {.traced = lab::gemm_of(table, stage.variants[0])}, means, C);
}

constexpr int kSide = 256;   // M, N and K of what is traced: the walkthrough's
constexpr int kShort = 128;  // another K, for the rates at a larger one

constexpr int kManyTiles = 8192;  // M and N of a product with many tiles of C for each SM

// The counts of a stage, and what its first block did.
struct Traced {
  lab::Row row;
  TracedStage stage;
};

// How fast the stage goes in the product whose times were recorded: its counts there follow from
// those of two short ones.
Pace pace(const model::StageTable& table, const Traced& traced, int size) {
  lab::Run run{};
  run.M = run.N = run.K = size;
  run.alpha = 1;
  run.gpu = *model::find_gpu(kGpu);
  const lab::Problem p = lab::random_problem({kSide, kSide, kShort}, 1, 0, 1);
  const lab::Measurement near = measured(table, *traced.stage.stage, p, nullptr);
  lab::Row row = traced.row;
  row.occupancy = lab::occupancy_of({}, run, *row.variant, row.variant->kernel);
  row.counts = model::extrapolated(*near.counts, *row.counts, (size - kShort) / (kSide - kShort));
  return pace_of(run, row);
}

PacedStage paced(const model::StageTable& table, const Traced& traced, int size) {
  return {traced.stage.stage, plan_of(traced.stage), pace(table, traced, size)};
}

Traced traced(const model::StageTable& table, const model::Stage& stage) {
  const lab::Problem p = lab::random_problem({kSide, kSide, kSide}, 1, 0, 1);
  trace::Recorder recorder{.blocks = {0}};
  lab::Row row{measured(table, stage, p, &recorder)};
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &stage.variants[0];
  return {
      std::move(row),
      {&stage, &stage.variants[0],
       pictures::requests_of_block(recorder.launches.at(0), 0, p.M, p.N, p.K)}};
}

// The pictures of how the blocks of `now` share out the work, where the stage before has no order
// of its own, or cuts no tiles.
void add_shares(
    const model::StageTable& table, const Traced& before, const Traced& now, int size,
    std::vector<OfStage>& drawn) {
  const model::Gpu& gpu = *model::find_gpu(kGpu);
  const auto wave = [&](const TracedStage& one) {
    return WaveOfStage{
        one.stage, one.variant, first_wave(table, *one.variant, gpu, kManyTiles, kManyTiles)};
  };
  using model::Sharing;
  const Sharing then = before.stage.variant->sharing, here = now.stage.variant->sharing;
  if (then == Sharing::grid && here != Sharing::grid) {
    drawn.push_back(
        {now.stage.stage, kAboutWave,
         draw_first_wave(wave(before.stage), wave(now.stage), kManyTiles, kManyTiles)});
  }
  if (then == Sharing::cut) return;
  if (auto sms = draw_sm_times(*now.stage.variant, gpu, size, size, size)) {
    drawn.push_back({now.stage.stage, kAboutSms, std::move(*sms)});
  }
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

std::vector<Picture> draw_pictures(const model::StageTable& table) {
  const std::vector<RecordedLadder> recorded = recorded_h200();
  const RecordedLadder& main = main_run(recorded);
  std::vector<Picture> pictures{draw_gpu()};
  std::vector<OfStage> drawn;
  std::optional<Traced> before;
  std::optional<Picture> life;
  bool warp_tiles = false;   // there was a stage with them
  bool boxes = false;        // and one whose tiles are boxes of the copy engine
  bool steps_ahead = false;  // and one that loads them
  lab::Run run{};
  run.M = run.N = run.K = kSide;
  run.gpu = *model::find_gpu(kGpu);
  for (const model::Stage& stage : table.stages) {
    if (stage.variants.empty()) continue;
    Traced latest = traced(table, stage);
    run.rows.push_back(latest.row);
    const auto add = [&](const Subject& subject, Drawing drawing) {
      drawn.push_back({&stage, subject, std::move(drawing)});
    };
    if (!stage.specialized) {
      add(kAboutTiles, draw_tiles(latest.stage));
      add(kAboutCoalescing, draw_coalescing(latest.stage.block));
      if (auto banks = draw_banks(latest.stage.block)) add(kAboutBanks, std::move(*banks));
    } else {
      if (!std::exchange(boxes, true)) add(kAboutBoxes, draw_box(latest.stage));
      add(kAboutRing, draw_ring(latest.stage, pace(table, latest, main.size)));
    }
    if (latest.stage.variant->WM > 0 && !std::exchange(warp_tiles, true)) {
      add(kAboutLanes, draw_lanes(latest.stage));
    }
    if (latest.stage.variant->pipeline > 1 && before && !life) {
      const PacedStage old = paced(table, *before, main.size);
      add(kAboutPipeline, draw_pipeline(old, paced(table, latest, main.size), main));
      life = draw_block_life(before->stage, old.pace);
    }
    if (before) {
      add_shares(table, *before, latest, main.size, drawn);
      // The first stage that loads a step of k ahead.
      if (latest.stage.variant->pipeline > 1 && !steps_ahead && step_plan(latest.stage).ahead > 0) {
        add(kAboutSteps, draw_steps(before->stage, latest.stage, run.gpu, model::latencies().smem));
        steps_ahead = true;
      }
    }
    before = std::move(latest);
  }
  for (Picture& picture : pictures_of_stages(drawn)) pictures.push_back(std::move(picture));
  if (life) pictures.push_back(std::move(*life));
  pictures.push_back(draw_layouts());
  pictures.push_back(draw_staircase(table.stages, recorded));
  pictures.push_back(draw_roofline(run, main));
  pictures.push_back(draw_loads(run));
  return pictures;
}

void write_pictures(const std::string& directory, const std::vector<Picture>& pictures) {
  make_directory(directory);
  for (const Picture& picture : pictures) {
    const std::string name = picture.name + ".svg";
    refuse_if(directory, name, text::write_file(fs::path(directory) / name, {svg_file(picture)}));
  }
}

void draw_figures(
    const std::string& directory, const model::StageTable& table,
    const std::vector<Picture>& others) {
  // Said before the work and not after it.
  make_directory(directory);
  refuse_if(directory, "a picture", text::problem_of_writing(fs::path(directory) / "tiles.svg"));
  std::vector<Picture> pictures = draw_pictures(table);
  pictures.insert(pictures.end(), others.begin(), others.end());
  write_pictures(directory, pictures);
  for (const Picture& picture : pictures) {
    std::printf("%s.svg: %s\n", picture.name.c_str(), picture.drawing.finding.c_str());
  }
}

}  // namespace pictures
