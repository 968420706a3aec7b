// The facts about a run and its rows, as a list of names and values, and how they are written as
// JSON (nested) and CSV (RFC 4180, side by side).
#pragma once

#include <cmath>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/run.h"
#include "model/ceiling.h"
#include "model/warp_access.h"
#include "text/numbers.h"

namespace report {

// A value as JSON and CSV both write it: null (unknown or missing; also a NaN or an infinity, which
// neither can write), a number or truth value, or text that has to be quoted first.
struct FactValue {
  enum Kind { null, plain, text } kind = null;
  std::string written;
  double number = 0;  // if it is one; 1: true

  FactValue() = default;
  FactValue(bool value) : kind(plain), written(value ? "true" : "false"), number(value) {}
  template <std::integral Int>
  FactValue(Int value)
      : kind(plain), written(std::to_string(value)), number(static_cast<double>(value)) {}
  FactValue(double value) {
    if (std::isfinite(value)) kind = plain, written = text::shortest(value), number = value;
  }
  template <class Value>
  FactValue(const std::optional<Value>& value) {
    if (value) *this = FactValue(*value);
  }
  FactValue(model::UnitIndex unit) : FactValue(model::kUnitNames[unit]) {}
  FactValue(std::string_view value) : kind(text), written(value) {}
  FactValue(std::string value) : kind(text), written(std::move(value)) {}
  FactValue(const char* value) : kind(value ? text : null), written(value ? value : "") {}
  static FactValue json(std::string written);  // an array or object, for JSON alone
};

// The version of the paths below. It changes if one gets another meaning or is removed, not if one
// is added.
inline constexpr int kSchema = 1;

struct Fact {
  std::string path;  // "error.relative" is `relative` within `error`
  FactValue value;
};

// Facts with the same first part of their paths are consecutive. The paths are the same for every
// row (show/report/quantities.h).
std::vector<Fact> stage_facts(const lab::Run& run, const lab::Row& row);

std::vector<Fact> run_facts(const lab::Run& run);

// The bytes of cp.async copies in flight for a block when a warp reaches that line: on average, and
// at most.
struct InFlight {
  double mean_bytes;
  double most_bytes;
};
InFlight in_flight(const lab::Row& row, const model::LineCounts& line);

// One object: problem, gpu, stages[], yardsticks[]. An unknown value is null, never left out.
std::string json_text(const lab::Run& run);

// The members of the outermost object, without its braces.
std::string json_members(const std::vector<Fact>& facts);

// "name": [ {...}, ... ], indented as a member of the outermost object.
std::string json_array(const std::string& name, const std::vector<std::vector<Fact>>& objects);

// JSON's facts about each row, one line per row, after a line of names.
std::string csv_text(const lab::Run& run);

// A line with its CRLF: the paths, or the values.
std::string csv_names(const std::vector<Fact>& facts);
std::string csv_values(const std::vector<Fact>& facts);

}  // namespace report
