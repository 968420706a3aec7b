// What the model takes from the recordings, beside the recordings.
#include "cluster/recorded.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

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
  for (RecordedProduct product : recorded_products()) {
    CAPTURE(product.ms);
    const KnownSpeed speed =
        recorded_speed(product.gpu, product.stage, product.size, product.grid, product.resident);
    CHECK(speed.source == "as recorded for this product");
    std::map<int, double> times(product.ms_of_width.begin(), product.ms_of_width.end());
    const bool chooses = times.size() > 1;
    times.emplace(product.panel, product.ms);
    double fastest = product.ms;
    for (const auto& [width, ms] : times) {
      CAPTURE(width);
      product.panel = width;
      fastest = std::min(fastest, ms);
      const auto predicted = predicted_ms(product);
      if (!predicted) continue;
      CHECK(*predicted == doctest::Approx(ms).epsilon(0.15));
      ++compared;
    }
    if (!chooses) continue;
    const Rate rate = measured_rate(product.tflops, product.grid.devices());
    const auto ms = [&](const Schedule& s) { return predict(s, find_link("nvlink"), rate).ms(); };
    const int chosen = std::ranges::min(schedules(product.size, product.grid), {}, ms).panel;
    CHECK(times.at(chosen) <= 1.02 * fastest);
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
