#include "bench/speeds.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "bench/csv.h"
#include "report/facts.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace bench {

namespace {

const std::string& field(const CsvRow& row, std::string_view name) {
  const auto found = row.find(name);
  if (found != row.end()) return found->second;
  throw std::invalid_argument(
      "there is no column " + std::string(name) + "; give a file that make bench FORMAT=csv wrote");
}

template <class Number>
Number number(const CsvRow& row, std::string_view name) {
  const std::string& written = field(row, name);
  Number value{};
  const char* const end = written.data() + written.size();
  const auto [stop, error] = std::from_chars(written.data(), end, value);
  if (error == std::errc() && stop == end && value >= 0) return value;
  throw std::invalid_argument(
      "column " + std::string(name) + ": " + text::echoed(written) + " is not a number that " +
      "make bench FORMAT=csv writes");
}

std::vector<report::Fact> facts_of(const Speed& speed) {
  const lab::Timing time = speed.time.value_or(lab::Timing{});
  const auto known = [&](report::FactValue value) {
    return speed.time ? std::move(value) : report::FactValue();
  };
  return {
      {"size", speed.size},
      {"stage", speed.stage ? report::FactValue(*speed.stage) : report::FactValue()},
      {"name", speed.name},
      {"device", speed.device},
      {"runs", known(time.repetitions)},
      {"median_ms", known(time.median_ms)},
      {"quartile1_ms", known(time.quartile1_ms)},
      {"quartile3_ms", known(time.quartile3_ms)},
      {"partial", known(time.partial)},
      {"tflops", known(speed.time ? tflops(speed) : 0)},
      {"note", speed.note}};
}

// The columns of time, in CSV of ours and of the program.
struct TimeColumns {
  const char *median, *quartile1, *quartile3, *runs, *partial;
};

std::optional<lab::Timing> time_of(const CsvRow& row, const TimeColumns& columns) {
  if (field(row, columns.median).empty()) return std::nullopt;
  lab::Timing time{};
  time.median_ms = number<double>(row, columns.median);
  time.quartile1_ms = number<double>(row, columns.quartile1);
  time.quartile3_ms = number<double>(row, columns.quartile3);
  time.repetitions = number<int>(row, columns.runs);
  time.partial = field(row, columns.partial) == "true";
  const bool ordered = time.quartile1_ms <= time.median_ms && time.median_ms <= time.quartile3_ms;
  if (ordered && time.median_ms > 0) return time;
  throw std::invalid_argument(
      field(row, "name") +
      ": the median is not between the quartiles, or 0; give a file that make "
      "bench FORMAT=csv wrote");
}

std::optional<int> stage_of(const CsvRow& row, std::string_view column) {
  if (field(row, column).empty()) return std::nullopt;
  return number<int>(row, column);
}

std::string line_of(const Speed& speed) {
  std::string line = label_of(speed);
  if (!speed.time) return line + "  " + speed.note + "\n";
  const lab::Timing& time = *speed.time;
  const std::string quartiles =
      text::significant(time.quartile1_ms) + " to " + text::significant(time.quartile3_ms);
  const double spread = 100 * (time.quartile3_ms - time.quartile1_ms) / time.median_ms;
  line += text::pad_left((time.partial ? "~" : "") + text::significant(time.median_ms), 11) +
          text::pad_left(quartiles, 20) + text::pad_left(text::brief(spread), 10) +
          text::pad_left(text::significant(tflops(speed)), 11) +
          text::pad_left(std::to_string(time.repetitions), 6) +
          (speed.note.empty() ? "" : "  " + speed.note);
  return line + "\n";
}

}  // namespace

double tflops(const Speed& speed) {
  const double size = speed.size;
  return 2 * size * size * size / speed.time->median_ms * 1e-9;
}

std::string csv_of(const std::vector<Speed>& speeds) {
  std::string csv = report::csv_names(facts_of(Speed{}));
  for (const Speed& speed : speeds) csv += report::csv_values(facts_of(speed));
  return csv;
}

std::vector<Speed> read_speeds(std::string_view csv) {
  std::vector<Speed> speeds;
  std::set<std::pair<int, std::string>> seen;
  for (const CsvRow& row : read_csv(csv)) {
    speeds.push_back(
        {number<int>(row, "size"), stage_of(row, "stage"), field(row, "name"), field(row, "device"),
         time_of(row, {"median_ms", "quartile1_ms", "quartile3_ms", "runs", "partial"}),
         field(row, "note")});
    if (!seen.insert({speeds.back().size, speeds.back().name}).second) {
      throw std::invalid_argument(
          speeds.back().name + text::printed(" at %d is there twice", speeds.back().size) +
          "; give a file that make bench FORMAT=csv wrote");
    }
  }
  if (speeds.empty()) {
    throw std::invalid_argument("has no times; give a file that make bench FORMAT=csv wrote");
  }
  return speeds;
}

std::vector<Speed> speeds_of_run(std::string_view csv) {
  std::vector<Speed> speeds;
  for (const CsvRow& row : read_csv(csv)) {
    const std::string& name = field(row, "name");
    const std::optional<int> stage = stage_of(row, "number");
    if (!stage.value_or(1) || name == "OpenMP CPU") continue;
    speeds.push_back(
        {number<int>(row, "problem.M"), stage, name, field(row, "gpu.name"),
         time_of(
             row, {"time_ms", "time.quartile1_ms", "time.quartile3_ms", "time.repetitions",
                   "time.partial"}),
         field(row, "why_not_run")});
  }
  return speeds;
}

std::string label_of(const Speed& speed) {
  constexpr int kLongest = 24;
  const std::string stage = speed.stage ? std::to_string(*speed.stage) : "";
  return text::pad_left(stage, 2) + " " + text::pad_right(speed.name, kLongest);
}

std::string table_of(const std::vector<Speed>& speeds) {
  std::set<std::string> cpus, gpus;
  for (const Speed& speed : speeds) {
    const bool on_gpu = speed.stage.value_or(0) > 0 || speed.name.starts_with("cuBLAS");
    (on_gpu ? gpus : cpus).insert(speed.device);
  }
  std::string text;
  for (const std::string& cpu : cpus) text += "CPU      " + cpu + "\n";
  for (const std::string& gpu : gpus) text += "GPU      " + gpu + "\n";
  if (gpus.empty())
    text += "GPU      none: the stages have no times, only what a CPU can run has\n";
  int size = -1;
  for (const Speed& speed : speeds) {
    if (speed.size != std::exchange(size, speed.size)) {
      text += "\n" + text::pad_right(text::printed("M = N = K = %d", size), 27) +
              "  median ms        quartiles ms  spread %    TFLOP/s  runs\n";
    }
    text += line_of(speed);
  }
  const bool any_partial = std::any_of(speeds.begin(), speeds.end(), [](const Speed& speed) {
    return speed.time && speed.time->partial;
  });
  text +=
      "\nquartiles   half of the runs lie between them; spread: their distance, of the median\n";
  if (any_partial) text += "~           scaled up from the first rows of C\n";
  return text;
}

}  // namespace bench
