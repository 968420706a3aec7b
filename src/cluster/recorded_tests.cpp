// What the model takes from the recordings, beside the recordings.
#include "cluster/recorded.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "lab/problem.h"
#include "model/error.h"
#include "show/pictures/recorded_gpus.h"
#include "testing/program.h"
#include "text/numbers.h"

namespace cluster {

namespace {

constexpr const char* kH100 = "H100 80GB HBM3";

Shape cube(int size) {
  return {size, size, size};
}

}  // namespace

TEST_CASE("a report is read as recorded, and any other text is refused") {
  const std::string report = testing::contents("results/gpus-h100-2-65536-host.txt");
  const RecordedProduct product = recorded_product(report);
  CHECK(product.gpu == kH100);
  CHECK(product.local == "stage 21");
  CHECK(product.shape.M == 65536);
  CHECK(product.grid == Grid{1, 2});
  CHECK_FALSE(product.resident);
  CHECK(product.ms == 1587);
  CHECK(product.predicted_ms == 1575);
  CHECK(recorded_product(testing::contents("results/gpus-h100-2-weak.txt")).shape.N == 32768);
  CHECK_THROWS_AS(recorded_product(""), std::invalid_argument);
  CHECK_THROWS_AS(
      recorded_product(testing::contents("results/h200-4096.txt")), std::invalid_argument);
  CHECK_THROWS_AS(recorded_product(report.substr(0, report.find("1,575"))), std::invalid_argument);
}

TEST_CASE("the model's time for a recorded product is that in its record") {
  const std::vector<RecordedProduct> products = recorded_products(kH100);
  for (const RecordedProduct& product : products) {
    const auto& [M, N, K] = product.shape;
    CAPTURE(M);
    CAPTURE(product.resident);
    const Speed speed =
        recorded_speed(kH100, product.local, product.shape, product.grid, product.resident);
    CHECK(speed.source == "as recorded for this product");
    const Link& link = find_link("nvlink");
    const Timeline timeline =
        product.resident
            ? predict(schedule(product.shape, product.grid, usual_panel(K)), link, speed.tflops)
            : predict(
                  streams(product.shape, product.grid, usual_panel(K, kStreamPanels), false, 140e9),
                  link, speed.tflops);
    CHECK(text::significant(timeline.ms()) == text::significant(product.predicted_ms));
  }
  CHECK(products.size() >= 12);
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
