// What the model takes from the recordings, beside the recordings.
#include "cluster/recorded.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cluster/devices.h"
#include "lab/problem.h"
#include "testing/program.h"

namespace cluster {

namespace {

ProblemSize cube(int size) {
  return {size, size, size};
}

}  // namespace

TEST_CASE(
    "the model is within 15 % of each recorded time, and chooses panels within 2 % of the best") {
  int compared = 0, several = 0;
  for (const RecordedProduct& product : recorded_products()) {
    CAPTURE(product.ms);
    const KnownSpeed speed =
        recorded_speed(product.gpu, product.stage, product.size, product.grid, product.resident);
    CHECK(speed.source == "as recorded for this product");
    auto times = product.ms_of_width;
    times.emplace_back(product.panel, product.ms);
    RecordedProduct with = product;
    for (const auto& [width, ms] : times) {
      CAPTURE(width);
      with.panel = width;
      const auto predicted = predicted_ms(with);
      if (!predicted) continue;
      CHECK(*predicted == doctest::Approx(ms).epsilon(0.15));
      ++compared;
    }
    if (product.ms_of_width.size() < 2) continue;
    const Rate rate = measured_rate(product.tflops, product.grid.devices());
    const std::vector<Schedule> all = schedules(product.size, product.grid);
    const auto ms = [&](const Schedule& s) { return predict(s, find_link("nvlink"), rate).ms(); };
    const int chosen = std::ranges::min_element(all, {}, ms)->panel;
    double fastest = product.ms, of_chosen = 0;
    for (const auto& [width, measured] : product.ms_of_width) {
      fastest = std::min(fastest, measured);
      if (width == chosen) of_chosen = measured;
    }
    CHECK(of_chosen > 0);
    CHECK(of_chosen <= 1.02 * fastest);
    ++several;
  }
  CHECK(compared > 40);
  CHECK(several > 10);
}

TEST_CASE("another product has the speed of the recorded one with the most similar work") {
  const auto speed = [](ProblemSize size, DeviceGrid grid) {
    return recorded_speed("H100 80GB HBM3", 18, size, grid, true);
  };
  CHECK(speed(cube(64), {1, 1}).source == "as recorded at 512 x 512 x 512");
  CHECK(speed(cube(3000), {1, 1}).source == "as recorded at 4096 x 4096 x 4096");
  CHECK(speed(cube(3000), {1, 2}).tflops == speed(cube(2048), {1, 1}).tflops);
  CHECK(speed(cube(3001), {1, 1}).source == "as recorded at 4095 x 4095 x 4095");
  CHECK(speed({8, 8, 0}, {1, 1}).tflops > 0);
  CHECK(recorded_speed("T4", 17, cube(64), {1, 1}, true).tflops == 0);
}

TEST_CASE("the fastest fp32 stage multiplies, by the ladders that are recorded") {
  const auto fastest = [&](const char* name, int size) {
    return fastest_fp32_stage(stage_table_plain, *model::find_gpu(name), cube(size)).number;
  };
  CHECK(fastest("H200", 4096) == 21);  // stage 16 is faster, in tf32
  CHECK(fastest("A100", 4096) == 11);  // by the order on the H200
}

}  // namespace cluster
