#include "profile/ncu.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "model/refusal.h"
#include "profile/profile.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace profile {

namespace {

using Fields = std::vector<std::string>;

// The fields of one line of CSV. Nothing if a quote is not closed.
std::optional<Fields> fields_of(const std::string& line) {
  Fields fields(1);
  bool quoted = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quoted && c == '"' && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += line[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return quoted ? std::nullopt : std::optional(fields);
}

// A value as ncu prints it, "1,048,576" or "98.45"; nothing for "n/a" and similar text.
std::optional<double> value_of(std::string text) {
  std::erase(text, ',');
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  constexpr double kLargest = 9e15;  // exact in a double
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= kLargest)) return std::nullopt;
  return value;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at; (at = text.find(from)) != std::string_view::npos;) {
    result.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return result.append(text);
}

std::string comparable(const std::string& name) {
  std::string text = replaced(replaced(short_name(name), "true", "1"), "false", "0");
  std::erase(text, ' ');
  return text;
}

// The column of `name` in the header; nothing if it is missing.
std::optional<std::size_t> column_of(const Fields& header, std::string_view name) {
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

}  // namespace

std::string short_name(const std::string& from_ncu) {
  std::string_view name = from_ncu;
  if (name.starts_with("void ")) name.remove_prefix(5);
  const std::string text = replaced(replaced(name, "(int)", ""), "(bool)", "");
  return text.substr(0, text.find('('));
}

// With ncu's --kernel-name-base function, a name has no template arguments.
bool same_kernel(const std::string& from_ncu, const char* ours) {
  const std::string left = comparable(from_ncu), right = comparable(ours);
  return left == right || left == right.substr(0, right.find('<'));
}

// ncu puts every field in quotes, which distinguishes its lines from the program's own output and
// from ncu's messages (==PROF== ...). The line after the header names units and has no ID.
std::vector<NcuLaunch> read_ncu(std::istream& csv, std::span<const std::string_view> metrics) {
  Fields header;
  std::vector<NcuLaunch> launches;
  std::string line;
  for (int number = 1; std::getline(csv, line); ++number) {
    if (!line.starts_with('"')) continue;
    const std::optional<Fields> fields = fields_of(line);
    if (header.empty()) {
      if (fields && column_of(*fields, "Kernel Name") && column_of(*fields, "ID")) header = *fields;
      continue;
    }
    if (!fields || fields->size() != header.size()) {
      throw model::Refusal(text::printed(
          "line %d of ncu's output is cut off or broken: its header has %zu columns "
          "and the line has a different number; run ncu --csv --page raw again",
          number, header.size()));
    }
    if ((*fields)[*column_of(header, "ID")].empty()) continue;
    NcuLaunch launch{(*fields)[*column_of(header, "Kernel Name")], {}};
    for (const std::string_view metric : metrics) {
      const auto column = column_of(header, metric);
      launch.values.push_back(column ? value_of((*fields)[*column]) : std::nullopt);
    }
    launches.push_back(launch);
  }
  if (header.empty()) {
    throw model::Refusal(
        "found no table from ncu: no line starts with a quote and has the columns \"ID\" and "
        "\"Kernel Name\"; give the output of ncu --csv --page raw --metrics ...");
  }
  return launches;
}

std::string joined_metrics(std::span<const std::string_view> metrics) {
  std::string names;
  for (const std::string_view metric : metrics) {
    if (!names.empty()) names += ',';
    names += metric;
  }
  return names;
}

std::string ncu_csv(const char* flag, const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  text::ReadFile file = text::read_file(path, kMostBytes);
  if (file.problem.empty()) return std::move(file.contents);
  throw model::Refusal(std::string(flag) + " " + text::echoed(path) + ": " + file.problem);
}

}  // namespace profile
