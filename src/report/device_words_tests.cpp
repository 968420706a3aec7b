#include "report/device_words.h"

#include <doctest/doctest.h>

#include <string>

#include "lab/example_run.h"
#include "report/about.h"
#include "report/explain/explain.h"
#include "report/json.h"
#include "report/table.h"
#include "testing/program.h"

namespace report {

namespace {

using testing::contains;
using testing::line_with;

model::DeviceState steady() {
  return {
      .readings = 52,
      .measured_ms = 480,
      .median_mhz = 1980,
      .min_mhz = 1980,
      .max_mhz = 1980,
      .mean_watts = 655.2,
      .max_watts = 655.4,
      .limit_watts = 700,
      .watts_are_averages = true,
      .max_celsius = 54,
      .throttles = std::vector<model::Throttle>{}};
}

model::DeviceState throttled() {
  model::DeviceState state = steady();
  state.median_mhz = 1935;
  state.min_mhz = 1905;
  state.max_watts = 701;
  state.throttles = std::vector<model::Throttle>{{"the power limit", 34}, {"heat", 2}};
  return state;
}

// The run of a GPU that was in that state for its first kernel.
lab::Run run_in(const std::optional<model::DeviceState>& state) {
  lab::Run run = lab::example::timed_run();
  run.rows[2].time->device = state;
  run.rows[2].time->busy_before_ms = 3210;
  return run;
}

std::string time_of(const lab::Run& run) {
  return testing::written(
      [&](std::FILE* out) { explain(out, run, run.rows[2], {}, {.sections = {"time"}}); });
}

std::string table_of(const lab::Run& run) {
  return testing::written([&](std::FILE* out) { print_table(out, run, {}, false); });
}

}  // namespace

TEST_CASE("clock, power and throttling are one line of words") {
  CHECK(clocks_words(steady()) == "SM 1980 MHz throughout, 655 W of 700 W, not throttled");
  CHECK(
      clocks_words(throttled()) ==
      "SM 1935 MHz (1905 to 1980), 655 W (at most 701) of 700 W, throttled by the power limit and "
      "heat in 34 of 52 readings");
  CHECK(clocks_words({}) == "SM clock not known, power not known, throttling not known");
}

TEST_CASE("a power that is an average over more than the measurement is said to be one") {
  CHECK(contains(readings_words(steady()), "52 readings in 480 ms; the power is an average over"));
  model::DeviceState other = steady();
  other.measured_ms = 1200;
  CHECK(readings_words(other) == "52 readings in 1,200 ms");
  other = steady();
  other.watts_are_averages = false;
  CHECK(readings_words(other) == "52 readings in 480 ms");
  other.readings = 1;
  CHECK(readings_words(other) == "one reading, at the end of 480 ms");
}

TEST_CASE("an explanation says how fast the GPU's clock was, and how long it had been busy") {
  const std::string text = time_of(run_in(steady()));
  CHECK(contains(
      line_with(text, "clocks"), "SM 1980 MHz throughout, 655 W of 700 W, not throttled, 54 °C"));
  CHECK(contains(line_with(text, "busy before"), "3.21 s of work for this program, without"));
  CHECK(contains(line_with(time_of(run_in({})), "clocks"), "not known: the driver's NVML"));
  // A time of the CPU has no clock of a GPU.
  CHECK_FALSE(contains(time_of(lab::example::timed_run()), "clocks"));
}

TEST_CASE("the head of a report has the clocks of all rows, if they are known") {
  lab::Run run = run_in(steady());
  run.rows[3].time->device = throttled();
  CHECK(contains(
      line_with(about(run), "clocks   "),
      "clocks   SM 1935 MHz (1905 to 1980), 655 W (at most 701) of 700 W, throttled by the power"));
  CHECK_FALSE(contains(about(run_in({})), "clocks"));
}

TEST_CASE("a table says which rows ran on a throttled GPU, and nothing if there are none") {
  const lab::Run run = run_in(throttled());
  CHECK(contains(
      line_with(table_of(run), "throttled   "), run.rows[2].name + ": the GPU lowered its clock"));
  CHECK_FALSE(contains(table_of(run_in(steady())), "lowered its clock"));
  CHECK(testing::widest(table_of(run)) <= 100);
}

TEST_CASE("the JSON has what the sensors said, and null for what they did not") {
  const auto json_of = [](const lab::Run& run) {
    return testing::StrictJson(testing::written([&](std::FILE* out) { print_json(out, run); }));
  };
  const testing::StrictJson json = json_of(run_in(throttled()));
  const std::string device = "stages.1.device.";
  CHECK(json.values.at(device + "sm_mhz_median") == "1935");
  CHECK(json.values.at(device + "watts_limit") == "700");
  CHECK(json.values.at(device + "throttled") == "true");
  CHECK(json.values.at(device + "throttled_by") == "the power limit and heat");
  CHECK(json.values.at("stages.1.time.busy_before_ms") == "3210");
  CHECK(json.values.at("stages.2.device.sm_mhz_median") == "null");
  CHECK(json.values.at("stages.2.device.throttled") == "null");
  CHECK(json_of(run_in(steady())).values.at(device + "throttled") == "false");
}

}  // namespace report
