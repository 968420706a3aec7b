// What there is to say about a run and its rows, as a list of names and values, and how JSON nests
// it and CSV (RFC 4180) writes it side by side.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "lab/run.h"
#include "model/counts.h"

namespace report {

// How a report is written; what --format takes (markdown: an explanation only).
enum class Format { table, json, csv, markdown };

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

// Barriers of a block, and of those of them that stand for one tile of K; 0 where K has no tiles.
struct Barriers {
  double a_block;
  double a_tile;
};
Barriers barriers(const lab::Run& run, const lab::Row& row);

// Bytes that cp.async copies for a block and that it has not waited for, whenever a warp comes to
// that line: on average, and at most.
struct InFlight {
  double mean_bytes;
  double most_bytes;
};
InFlight in_flight(const lab::Row& row, const model::LineCounts& line);

// One object: problem, gpu, stages[], yardsticks[]. What is not known is null, never left out.
void print_json(std::FILE* out, const lab::Run& run);
std::string json_text(const lab::Run& run);

// The members of the outermost object, without its braces.
std::string json_members(const std::vector<Fact>& facts);

// "name": [ {...}, ... ], indented as a member of the outermost object.
std::string json_array(const std::string& name, const std::vector<std::vector<Fact>>& objects);

// print_json's facts about each row, a line a row, after a line of names.
void print_csv(std::FILE* out, const lab::Run& run);

// A line with its CRLF: the paths, or the values.
std::string csv_names(const std::vector<Fact>& facts);
std::string csv_values(const std::vector<Fact>& facts);

}  // namespace report
