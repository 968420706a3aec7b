// What a GPU's sensors said while kernels ran: clock, power, and whether the GPU was throttled.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace model {

// One look at the sensors. Empty: this GPU or driver does not say.
struct Reading {
  std::optional<double> sm_mhz, watts, celsius;
  std::optional<std::uint64_t> clock_reasons;  // NVML's bits: why the clock is not higher
};

// A reason for which the GPU lowered its clock, and how many readings gave it.
struct Throttle {
  std::string_view reason;  // "the power limit"
  int readings;
};

struct DeviceState {
  int readings = 0;
  double measured_ms = 0;  // how long they were taken
  std::optional<double> median_mhz, min_mhz, max_mhz;
  std::optional<double> mean_watts, max_watts, limit_watts;
  bool watts_are_averages = false;  // over up to kPowerAverageMs: the sensor gives nothing shorter
  std::optional<double> max_celsius;
  std::optional<std::vector<Throttle>> throttles;  // none: it was not throttled; empty: not known
};

inline constexpr double kPowerAverageMs = 1000;

// Fills in what follows from the readings: all but the limit, the averages and the duration.
DeviceState device_state(std::span<const Reading> readings);

// What several measurements in a row say together: the widest ranges, the highest power, all
// reasons. The median is that of the measurements' medians. Nothing if there are none.
std::optional<DeviceState> together(std::span<const DeviceState> states);

}  // namespace model
