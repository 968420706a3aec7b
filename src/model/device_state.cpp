#include "model/device_state.h"

#include <algorithm>
#include <numeric>

namespace model {

namespace {

// NVML's nvmlClocksEventReasons. The others (idle, a clock that the user chose, a display) do not
// mean that the GPU could not keep its clock.
struct Bits {
  std::uint64_t bits;
  std::string_view reason;
};
constexpr Bits kThrottles[] = {
    {0x04, "the power limit"},
    {0x20 | 0x40, "heat"},
    {0x80, "an external power brake"},
    {0x08, "a hardware slowdown"},
    {0x10, "the clock of another GPU (sync boost)"}};

using Values = std::vector<double>;

Values values_of(std::span<const Reading> readings, std::optional<double> Reading::*which) {
  Values values;
  for (const Reading& reading : readings) {
    if (reading.*which) values.push_back(*(reading.*which));
  }
  return values;
}

Values values_of(std::span<const DeviceState> states, std::optional<double> DeviceState::*which) {
  Values values;
  for (const DeviceState& state : states) {
    if (state.*which) values.push_back(*(state.*which));
  }
  return values;
}

std::optional<double> least(const Values& values) {
  if (values.empty()) return std::nullopt;
  return *std::min_element(values.begin(), values.end());
}

std::optional<double> most(const Values& values) {
  if (values.empty()) return std::nullopt;
  return *std::max_element(values.begin(), values.end());
}

std::optional<double> mean(const Values& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of an even number, the lower of the two in the middle: a clock that the GPU had.
std::optional<double> median(Values values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

std::vector<Throttle> without_zeros(std::vector<Throttle> throttles) {
  std::erase_if(throttles, [](const Throttle& throttle) { return throttle.readings == 0; });
  return throttles;
}

}  // namespace

DeviceState device_state(std::span<const Reading> readings) {
  const Values mhz = values_of(readings, &Reading::sm_mhz);
  const Values watts = values_of(readings, &Reading::watts);
  DeviceState state{
      .readings = static_cast<int>(readings.size()),
      .median_mhz = median(mhz),
      .min_mhz = least(mhz),
      .max_mhz = most(mhz),
      .mean_watts = mean(watts),
      .max_watts = most(watts),
      .limit_watts = {},
      .max_celsius = most(values_of(readings, &Reading::celsius)),
      .throttles = {}};
  const bool known = std::any_of(readings.begin(), readings.end(), [](const Reading& reading) {
    return reading.clock_reasons.has_value();
  });
  if (!known) return state;
  std::vector<Throttle> throttles;
  for (const auto& [bits, reason] : kThrottles) {
    const auto count = std::count_if(readings.begin(), readings.end(), [&](const Reading& reading) {
      return (reading.clock_reasons.value_or(0) & bits) != 0;
    });
    throttles.push_back({reason, static_cast<int>(count)});
  }
  state.throttles = without_zeros(throttles);
  return state;
}

std::optional<DeviceState> together(std::span<const DeviceState> states) {
  if (states.empty()) return std::nullopt;
  DeviceState all{
      .median_mhz = median(values_of(states, &DeviceState::median_mhz)),
      .min_mhz = least(values_of(states, &DeviceState::min_mhz)),
      .max_mhz = most(values_of(states, &DeviceState::max_mhz)),
      .mean_watts = mean(values_of(states, &DeviceState::mean_watts)),
      .max_watts = most(values_of(states, &DeviceState::max_watts)),
      .limit_watts = least(values_of(states, &DeviceState::limit_watts)),
      .max_celsius = most(values_of(states, &DeviceState::max_celsius)),
      .throttles = {}};
  std::vector<Throttle> throttles;
  for (const auto& [bits, reason] : kThrottles) throttles.push_back({reason, 0});
  bool known = false;
  for (const DeviceState& state : states) {
    all.readings += state.readings;
    all.measured_ms += state.measured_ms;
    all.watts_are_averages |= state.watts_are_averages;
    if (!state.throttles) continue;
    known = true;
    for (const Throttle& throttle : *state.throttles) {
      for (Throttle& sum : throttles) {
        if (sum.reason == throttle.reason) sum.readings += throttle.readings;
      }
    }
  }
  if (known) all.throttles = without_zeros(throttles);
  return all;
}

}  // namespace model
