// What the model takes from the recordings, beside the recordings.
#include "cluster/recorded.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "model/error.h"
#include "show/pictures/recorded_gpus.h"
#include "testing/program.h"

namespace cluster {

namespace {

constexpr const char* kH100 = "H100 80GB HBM3";

Shape cube(int size) {
  return {size, size, size};
}

}  // namespace

TEST_CASE("a report is read as recorded, and any other text is refused") {
  const std::string report =
      "problem  C (16384 x 32768) = 1 * A (16384 x 65536) * B (65536 x 32768) + 0 * C, fp32, seed "
      "1\n"
      "GPU      H200, 132 SMs, cc 9.0\n"
      "GPUs: 8 H200; each multiplies by stage 21, proven parts\n"
      "schedule: C in a grid of 2 x 4, 4 panels\nof 8192 of K, and each GPU begins with its own; "
      "1 MB travel in all\n"
      "model: nvlink; one GPU alone with its first panels,\nTFLOP/s: 215\n\n"
      "             GPUs   grid     ms  TFLOP/s  of GPUs x one  predicted ms    error  check\n"
      "distributed     8  2 x 4  1,587      355              –             –  1.8e-07     ok\n";
  const RecordedProduct product = recorded_product(report);
  CHECK(product.gpu == "H200");
  CHECK(product.local == "stage 21");
  CHECK(product.shape.N == 32768);
  CHECK(product.shape.K == 65536);
  CHECK(product.grid == Grid{2, 4});
  CHECK(product.resident);
  CHECK(product.panel == 8192);
  CHECK(product.ms == 1587);
  CHECK(product.tflops == 215);
  CHECK_THROWS_AS(recorded_product(""), std::invalid_argument);
  CHECK_THROWS_AS(
      recorded_product(testing::contents("results/h200-4096.txt")), std::invalid_argument);
  for (const char* const word : {"1,587", "TFLOP/s:", "of 8192"}) {
    CHECK_THROWS_AS(recorded_product(report.substr(0, report.find(word))), std::invalid_argument);
  }
}

namespace {

// The reports of results/ that are read, each with the times of its widths of panels.
struct Recorded {
  std::string name;
  RecordedProduct product;
  std::map<int, double> ms_of_width = {};
};

std::vector<Recorded> all_recorded() {
  std::vector<Recorded> all;
  for (const auto& file : std::filesystem::directory_iterator("results")) {
    const std::string name = file.path().filename(), report = testing::contents(file.path());
    if (!name.starts_with("gpus-h200-")) continue;
    all.push_back({name, recorded_product(report)});
    std::istringstream lines(report.substr(std::min(report.find("\npanels "), report.size())));
    std::string line;
    std::getline(lines, line), std::getline(lines, line);
    int panels = 0, width = 0;
    double ms = 0;
    while (std::getline(lines, line) &&
           std::sscanf(line.c_str(), "%d %d %lf", &panels, &width, &ms) == 3) {
      if (line.find(',') == line.npos) all.back().ms_of_width[width] = ms;
    }
  }
  return all;
}

}  // namespace

TEST_CASE("what the model says of a recorded product is within 15 % of each measured time") {
  int compared = 0;
  for (const auto& [name, product, ms_of_width] : all_recorded()) {
    CAPTURE(name);
    const Speed speed =
        recorded_speed("H200", product.local, product.shape, product.grid, product.resident);
    CHECK(speed.source == "as recorded for this product");
    std::map<int, double> times = ms_of_width;
    times[product.panel] = product.ms;
    for (const auto& [width, ms] : times) {
      CAPTURE(width);
      RecordedProduct with = product;
      with.panel = width;
      const auto predicted = predicted_ms(with);
      if (!predicted) continue;
      CHECK(*predicted == doctest::Approx(ms).epsilon(0.15));
      ++compared;
    }
  }
  CHECK(compared > 40);
}

TEST_CASE("of the recorded widths of panels, the model chooses the fastest, within 2 %") {
  int several = 0;
  for (const auto& [name, product, ms_of_width] : all_recorded()) {
    CAPTURE(name);
    if (ms_of_width.size() < 2) continue;
    int chosen = 0;
    double least = 0, fastest = 0;
    for (const Schedule& plan : schedules(product.shape, product.grid)) {
      const Rate rate = measured_rate(product.tflops, product.grid.devices());
      const double ms = predict(plan, find_link("nvlink"), rate).ms();
      if (chosen == 0 || ms < least) chosen = plan.panel, least = ms;
    }
    for (const auto& [width, ms] : ms_of_width) fastest = fastest == 0 ? ms : std::min(fastest, ms);
    CHECK(ms_of_width.at(chosen) <= 1.02 * fastest);
    ++several;
  }
  CHECK(several > 10);
}

TEST_CASE("a stage takes the time that the ladder recorded at each size") {
  const model::Gpu& h200 = *model::find_gpu("H200");
  const model::Stage& stage = *model::find_stage(stage_table_plain.stages, 17);
  for (const pictures::RecordedLadder& ladder : pictures::recorded_gpus().front().ladders) {
    const double n = ladder.size;
    CHECK(
        recorded_ms(h200, stage, cube(ladder.size)) ==
        doctest::Approx(2e-9 * n * n * n / ladder.of(17).tflops));
  }
}

TEST_CASE("another product has the speed of the recorded one with the most similar work") {
  const auto speed = [](Shape shape, Grid grid) {
    return recorded_speed(kH100, "stage 18", shape, grid, true);
  };
  CHECK(speed(cube(64), {1, 1}).source == "as recorded at 512 x 512 x 512");
  CHECK(speed(cube(3000), {1, 1}).source == "as recorded at 4096 x 4096 x 4096");
  CHECK(speed(cube(3000), {1, 2}).tflops == speed(cube(2048), {1, 1}).tflops);
  CHECK(speed(cube(3001), {1, 1}).source == "as recorded at 4095 x 4095 x 4095");
  CHECK(speed({8, 8, 0}, {1, 1}).tflops > 0);
  CHECK(recorded_speed("T4", "stage 17", cube(64), {1, 1}, true).tflops == 0);
}

TEST_CASE("the fastest fp32 stage multiplies, wherever in the table it is") {
  model::StageTable table = stage_table_plain;
  std::vector<model::Stage> stages(table.stages.begin(), table.stages.end());
  stages.push_back(*model::find_stage(stages, 8));
  stages.back().number = 99;
  table.stages = stages;
  const auto fastest = [&](const char* name, int size) {
    const model::Gpu& gpu = *model::find_gpu(name);
    const auto ms = [&](const model::Stage& of) { return recorded_ms(gpu, of, cube(size)); };
    return fastest_fp32_stage(table, gpu, ms)->number;
  };
  CHECK(fastest("H200", 4096) == 21);
  CHECK(fastest("A100", 4096) == 11);  // by the order on the H200
  // The time decides, and only fp32 counts: stage 16 is faster.
  const model::Gpu& h200 = *model::find_gpu("H200");
  const auto of = [](const model::Stage& stage) { return stage.number == 99 ? 1.0 : 2.0; };
  CHECK(fastest_fp32_stage(table, h200, of)->number == 99);
}

}  // namespace cluster
