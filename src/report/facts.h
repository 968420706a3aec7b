// What there is to say about a row, as a list of names and values: print_json nests it, print_csv
// writes it side by side.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lab/run.h"

namespace report {

// A value as JSON and CSV both write it: null (not known, or not there; also a NaN or an infinity,
// which neither can say), a number or truth value, or text that has to be quoted first.
struct FactValue {
  enum Kind { null, plain, text } kind = null;
  std::string written;

  FactValue() = default;
  FactValue(bool value) : kind(plain), written(value ? "true" : "false") {}
  FactValue(int value) : kind(plain), written(std::to_string(value)) {}
  FactValue(std::int64_t value) : kind(plain), written(std::to_string(value)) {}
  FactValue(std::uint64_t value) : kind(plain), written(std::to_string(value)) {}
  FactValue(double value);
  FactValue(std::string value) : kind(text), written(std::move(value)) {}
  FactValue(const char* value) : kind(value ? text : null), written(value ? value : "") {}
  static FactValue json(std::string written);  // an array or object, for print_json alone
};

// The version of the paths below. It changes when one gets another meaning or goes, and not when
// one is added.
inline constexpr int kSchema = 1;

struct Fact {
  std::string path;  // "error.relative" is `relative` within `error`
  FactValue value;
};

// Facts whose paths share a first part stand together. The paths are the same for every row.
std::vector<Fact> stage_facts(const lab::Run& run, const lab::Row& row);

// Time and error only: all there is to say about a row that is not a stage. A part of stage_facts.
std::vector<Fact> yardstick_facts(const lab::Run& run, const lab::Row& row);

std::vector<Fact> run_facts(const lab::Run& run);

}  // namespace report
