#include "report/device_words.h"

#include <cmath>

#include "text/numbers.h"

namespace report {

namespace {

std::string whole(double value) {
  return text::printed("%.0f", value);
}

std::string clock(const model::DeviceState& state) {
  if (!state.median_mhz) return "SM clock not known";
  const std::string range =
      *state.min_mhz == *state.max_mhz
          ? " throughout"
          : " (" + whole(*state.min_mhz) + " to " + whole(*state.max_mhz) + ")";
  return "SM " + whole(*state.median_mhz) + " MHz" + range;
}

std::string power(const model::DeviceState& state) {
  if (!state.mean_watts) return "power not known";
  const std::string mean = whole(*state.mean_watts), most = whole(*state.max_watts);
  return mean + " W" + (most == mean ? "" : " (at most " + most + ")") +
         (state.limit_watts ? " of " + whole(*state.limit_watts) + " W" : "");
}

std::string throttling(const model::DeviceState& state) {
  if (!state.throttles) return "throttling not known";
  if (state.throttles->empty()) return "not throttled";
  int readings = 0;
  for (const model::Throttle& throttle : *state.throttles) {
    readings = std::max(readings, throttle.readings);
  }
  return "throttled by " + reasons_words(*state.throttles) +
         text::printed(" in %d of %d readings", readings, state.readings);
}

}  // namespace

std::string clocks_words(const model::DeviceState& state) {
  return clock(state) + ", " + power(state) + ", " + throttling(state);
}

std::string temperature_words(const model::DeviceState& state) {
  return state.max_celsius ? ", " + whole(*state.max_celsius) + " °C" : "";
}

std::string readings_words(const model::DeviceState& state) {
  const std::string count = state.readings == 1 ? "one reading, at the end of "
                                                : text::printed("%d readings in ", state.readings);
  const bool too_short =
      state.watts_are_averages && state.mean_watts && state.measured_ms < model::kPowerAverageMs;
  return count + text::significant(state.measured_ms) + " ms" +
         (too_short ? "; the power is an average over up to a second, and so includes what the GPU "
                      "did before"
                    : "");
}

std::string reasons_words(const std::vector<model::Throttle>& throttles) {
  std::string text;
  for (std::size_t i = 0; i < throttles.size(); ++i) {
    text += (i == 0                     ? ""
             : i + 1 < throttles.size() ? ", "
                                        : " and ") +
            std::string(throttles[i].reason);
  }
  return text;
}

bool was_throttled(const lab::Measurement& measurement) {
  if (!measurement.time || !measurement.time->device) return false;
  const auto& throttles = measurement.time->device->throttles;
  return throttles && !throttles->empty();
}

std::string clocks_line(std::span<const lab::Row> rows, int term) {
  std::vector<model::DeviceState> states;
  for (const lab::Row& row : rows) {
    if (row.time && row.time->device) states.push_back(*row.time->device);
  }
  const std::optional<model::DeviceState> all = model::together(states);
  return all ? text::labelled("clocks", term, clocks_words(*all)) : "";
}

}  // namespace report
