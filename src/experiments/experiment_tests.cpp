#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "experiments/experiment.h"
#include "model/ceiling.h"
#include "show/report/known.h"
#include "testing/golden.h"
#include "testing/program.h"

namespace experiments {

namespace {

model::Variant made_up(const char* name, int side, int threads) {
  const model::KernelRef kernel{nullptr, "made_up"};
  return {name, side, side, 8, 0, 0, 8, 8, 0, threads, 1, 0, kernel, kernel};
}

// A launch of a 1024 x 1024 x 1024 product that took this long.
Trial timed(
    const std::string& setting, int stage, double ms, double occupancy_percent = 50,
    int threads = 256) {
  static std::array<model::Stage, 20> stages{};
  static std::array<model::Variant, 2048> variants{};
  model::Variant& variant = variants[stage * 100 + threads / 16];
  variant = made_up("default", 16, threads);
  stages[stage].number = stage;
  stages[stage].variants = {variant};
  Trial trial{setting, {}, {}};
  trial.run.M = trial.run.N = trial.run.K = 1024;
  trial.run.alpha = 1;
  trial.run.gpu = *model::find_gpu("H200");
  trial.run.gpu_present = true;
  trial.row.number = stage;
  trial.row.stage = &stages[stage];
  trial.row.variant = &variant;
  trial.row.time = lab::Timing{ms, ms, ms, ms, ms, 1};
  trial.row.counts = model::Counts{};
  trial.row.occupancy = model::Occupancy{};
  trial.row.occupancy->percent = occupancy_percent;
  trial.row.occupancy->blocks_per_sm = 4;
  return trial;
}

}  // namespace

TEST_CASE("the conclusions from made-up times are those of their golden file") {
  std::vector<testing::TitledText> outputs;
  const auto add = [&](const std::string& name, const std::vector<Trial>& trials) {
    const auto experiment = std::ranges::find(experiments(), name, &Experiment::name);
    REQUIRE(experiment != experiments().end());
    outputs.emplace_back(name, conclusion(*experiment, trials));
  };
  add("coarsening", {timed("1", 4, 4, 100), timed("2", 4, 2, 100), timed("4", 4, 1, 50),
                     timed("8", 4, 3, 25, 16)});
  add("coarsening", {timed("1", 4, 1), timed("2", 4, 2), timed("4", 4, 4)});
  std::vector<Trial> shapes{
      timed("8x8", 1, 8), timed("32x32", 1, 8.1), timed("8x8", 2, 10), timed("32x32", 2, 2)};
  for (const int i : {2, 3}) {
    shapes[i].row.counts->gmem_loads.requests = 10;
    shapes[i].row.counts->gmem_loads.pieces = i == 2 ? 50 : 25;
  }
  add("block-shape", shapes);
  add("block-shape", {shapes[0], shapes[2]});
  add("one-change", {timed("stage 3", 3, 8), timed("TM 8", 4, 4), timed("TN 8: stage 5", 5, 3.2),
                     timed("5 unrolled", 5, 1), timed("13 as it is", 13, 2),
                     timed("13, ring of 3", 13, 4), timed("13 without a swizzle", 13, 8)});
  Trial other = timed("5", 5, 1, 50, 128);
  const model::Variant smaller = made_up("other", 32, 128);
  other.row.variant = &smaller;
  add("tile-sizes", {timed("5", 5, 2), other, timed("6", 6, 3)});
  add("stages", {timed("1", 8, 4), timed("2", 9, 2), timed("3", 9, 1.99), timed("4", 9, 3)});
  add("occupancy", {timed("4", 3, 1, 100), timed("3", 3, 1.04, 75), timed("2", 3, 2, 50)});
  add("coarsening", {timed("1", 4, 1)});
  Trial unknown = timed("2", 4, 1);
  unknown.row.time.reset();
  add("coarsening", {timed("1", 4, 1), unknown});
  for (const Experiment& experiment : experiments()) {
    outputs.emplace_back(experiment.name, testing::written([&](std::FILE* out) {
                           print_experiment(
                               out, experiment, shapes[0].run, shapes, flags::Format::table, {});
                         }));
  }
  testing::compare_with_golden("conclusions", outputs);
}

TEST_CASE("blocks at once are counted along rows, or along columns if the grid is swapped") {
  Trial trial = timed("as it is", 1, 1);
  trial.row.occupancy->blocks_per_sm = 1;  // 132 blocks of 16 x 16 on 64 x 64 tiles
  const report::FirstWave rows = report::Known(trial.run, trial.row).first_wave.value();
  CHECK(rows.block_rows == 3);
  CHECK(rows.block_columns == 64);
  CHECK(rows.bytes == 4.0 * 1024 * 16 * (3 + 64));
  model::Variant swapped = *trial.row.variant;
  swapped.kernel.name = "swapped_naive<16, 16>";
  trial.row.variant = &swapped;
  const report::FirstWave columns = report::Known(trial.run, trial.row).first_wave.value();
  CHECK(columns.block_rows == 64);
  CHECK(columns.block_columns == 3);
}

TEST_CASE("extrapolated counts keep lines and hazards that only one of the two products has") {
  model::Counts near{}, far{};
  near.lines.resize(1);
  near.lines[0].requests = 7;
  near.hazards.push_back({model::HazardKind::out_of_bounds, "A", 0, 0, {}, {}});
  const model::Counts counts = model::extrapolated(near, far, -1);
  REQUIRE(counts.lines.size() == 1);
  CHECK(counts.lines[0].requests == 14);
  CHECK(counts.hazards.size() == 1);
  CHECK(model::extrapolated(far, near, 3).lines[0].requests == 21);
}

namespace {

testing::Output experiment(const std::string& arguments) {
  return testing::gemm_steps("--device cpu --experiment " + arguments);
}

// Every number under `name` in the JSON, in order.
std::vector<double> numbers(const std::string& json, const std::string& name) {
  std::vector<double> found;
  const std::string key = "\"" + name + "\": ";
  for (std::size_t at = 0; (at = json.find(key, at)) != json.npos; at += key.size()) {
    found.push_back(std::strtod(json.c_str() + at + key.size(), nullptr));
  }
  return found;
}

}  // namespace

// All of these grids have at most eight blocks, so both runs trace all of them.
TEST_CASE("counts that are extrapolated along K equal those of the whole K") {
  for (const std::string arguments :
       {"tile-sizes --stage 6 --m 64 --n 64 --k 104", "tile-sizes --stage 7 --m 60 --n 63 --k 105",
        "padding --m 64 --n 64 --k 201", "stages --m 32 --n 64 --k 135",
        "swapped-grid --m 64 --n 60 --k 205", "block-shape --m 16 --n 16 --k 200",
        "coarsening --m 32 --n 32 --k 201"}) {
    CAPTURE(arguments);
    const testing::Output some = experiment(arguments + " --hazards off --format json");
    const testing::Output all = experiment(arguments + " --hazards off --format json --trace all");
    CHECK(some.exit_code == 0);
    for (const char* name :
         {"gmem_load_requests", "gmem_load_sectors", "gmem_store_sectors", "smem_load_requests",
          "smem_load_wavefronts", "smem_store_requests", "smem_store_wavefronts",
          "smem_load_bank_conflicts", "smem_store_bank_conflicts", "async_copy_wavefronts", "min",
          "max", "ceiling_tflops"}) {
      CAPTURE(std::string(name));
      const std::vector<double> expected = numbers(all.out, name);
      CHECK(!expected.empty());
      CHECK(numbers(some.out, name) == expected);
    }
  }
}

}  // namespace experiments
