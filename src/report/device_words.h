// The GPU's clock and power while it was measured, in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/gpus.h"

namespace report {

// "SM 1980 MHz throughout, 655 W (at most 671) of 700 W, not throttled"
std::string clocks_words(const model::DeviceState& state);

// ", 54 °C"; "" if it is not known.
std::string temperature_words(const model::DeviceState& state);

// "52 readings in 480 ms", and what the power is the average of.
std::string readings_words(const model::DeviceState& state);

// "the power limit and heat"; "" if there is none.
std::string reasons_words(const std::vector<model::Throttle>& throttles);

bool was_throttled(const lab::Measurement& measurement);

// A line for the head of a report, with the label "clocks": all rows together. "" if the sensors
// were not read.
std::string clocks_line(std::span<const lab::Row> rows, int term);

}  // namespace report
