#include "cluster/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "text/numbers.h"

namespace cluster {

namespace {

using text::Cells;

constexpr const char* kNone = "–";

// The model's timeline of the schedule that ran, if it is worth printing; else null.
const Timeline* model_of(const Report& report) {
  if (report.widths.empty() || !report.widths[report.chosen].model.is_told()) return nullptr;
  return &report.widths[report.chosen].model;
}

void print_columns(std::FILE* out, const std::vector<Cells>& lines) {
  const std::vector<int> widths = text::widths_of(lines);
  for (const Cells& cells : lines) std::fputs(text::in_columns(cells, widths, 2).c_str(), out);
}

// Only the first way is predicted and checked.
Cells cells_of(const Report& report, const Way& way) {
  const double speed = way.time ? tflops(report.size, way.time->median_ms) : 0;
  const Timeline* const model = &way == report.ways.data() ? model_of(report) : nullptr;
  return {
      way.name,
      std::to_string(way.gpus),
      way.grid.empty() ? kNone : way.grid,
      way.time ? text::significant(way.time->median_ms) : kNone,
      way.time ? text::significant(speed) : kNone,
      way.time && report.one_gpu_tflops > 0
          ? text::printed("%.2f", speed / (way.gpus * report.one_gpu_tflops))
          : kNone,
      model != nullptr ? text::significant(model->ms()) : kNone,
      way.error ? text::printed("%.1e", way.error->relative) : kNone,
      !way.error            ? kNone
      : way.error->bound_ok ? "ok"
                            : "WRONG"};
}

std::string megabytes(std::int64_t bytes) {
  return text::significant(1e-6 * static_cast<double>(bytes));
}

void print_loads(std::FILE* out, const Report& report) {
  std::vector<Cells> lines{
      {"", "MB sent", "MB received", "messages sent", "received", "MB held", "formula"}};
  for (std::size_t device = 0; device < report.predicted.size(); ++device) {
    const bool is_counted = device < report.counted.size();
    const Load& load = is_counted ? report.counted[device] : report.predicted[device];
    lines.push_back(
        {text::printed("GPU %zu", device), megabytes(load.bytes_sent),
         megabytes(load.bytes_received), text::grouped(load.messages_sent),
         text::grouped(load.messages_received), megabytes(load.bytes_held),
         !is_counted                        ? "not counted"
         : load == report.predicted[device] ? "equal"
                                            : "NOT EQUAL"});
  }
  print_columns(out, lines);
}

void print_widths(std::FILE* out, const Report& report) {
  if (report.widths.empty() || report.widths.front().schedule.from_host) return;
  std::fprintf(out, "\n");
  std::vector<Cells> lines{{"panels", "wide", "ms", "predicted ms", ""}};
  for (const auto& [schedule, model, ms] : report.widths) {
    const bool is_chosen = static_cast<int>(lines.size()) == report.chosen + 1;
    lines.push_back(
        {text::printed("%d", schedule.turns()), text::printed("%d", schedule.panel),
         ms ? text::significant(*ms) : kNone,
         model.is_told() ? text::significant(model.ms()) : kNone, is_chosen ? "chosen" : ""});
  }
  print_columns(out, lines);
}

void print_recorded(std::FILE* out, const std::string& gpu) {
  std::vector<Cells> lines{
      {"", "GPUs", "grid", "multiplied by", "ms", "predicted ms", "its error"}};
  for (const RecordedProduct& product : recorded_products()) {
    if (product.gpu != gpu) continue;
    const auto [M, N, K] = product.size;
    const std::optional<double> predicted = predicted_ms(product);
    lines.push_back(
        {text::printed("%d x %d x %d", M, N, K) + (product.resident ? "" : ", from the host"),
         text::printed("%d", product.grid.devices()), in_words(product.grid),
         text::printed("stage %d", product.stage), text::significant(product.ms),
         predicted ? text::significant(*predicted) : kNone,
         predicted ? text::printed("%+.1f %%", 100 * (*predicted / product.ms - 1)) : kNone});
  }
  if (lines.size() == 1) return;
  std::fprintf(
      out, "\nThe model's error with each product that is recorded on the %s\n", gpu.c_str());
  print_columns(out, lines);
}

// A line for each lane of each device: when panels arrive, and when they are multiplied, each step
// by its number's last digit.
void draw(std::FILE* out, const Timeline& timeline) {
  constexpr std::array kLanes = {"arrives", "multiplies", "leaves"};
  const int devices = timeline.devices();
  const int label = text::display_width(text::printed("GPU %d multiplies ", devices - 1));
  const int columns = std::max(text::report_width() - label - 1, 1);
  const double ms_per_column = timeline.ms() / columns;
  std::map<std::pair<int, Lane>, std::string> lines;
  for (const BusyTime& time : timeline.times) {
    if (time.end_ms <= time.begin_ms) continue;
    std::string& line = lines.try_emplace({time.device, time.lane}, columns, ' ').first->second;
    const int begin = static_cast<int>(std::floor(time.begin_ms / ms_per_column));
    const int end = static_cast<int>(std::ceil(time.end_ms / ms_per_column));
    for (int column = begin; column < std::min(end, columns); ++column) {
      line[column] = static_cast<char>('0' + time.step % 10);
    }
  }
  for (const auto& [of, line] : lines) {
    const char* const lane = kLanes[static_cast<int>(of.second)];
    const std::string name = text::pad_right(text::printed("GPU %d %s", of.first, lane), label);
    std::fprintf(out, "%s\n", text::without_trailing_spaces(name + "|" + line).c_str());
  }
}

void print_timeline(std::FILE* out, const char* what, const Timeline& timeline) {
  if (timeline.times.empty()) return;
  const std::string sentence = text::printed(
      "%s: %s ms; %.0f %% of the time in which panels travel, their GPU also multiplies", what,
      text::significant(timeline.ms()).c_str(), 100 * timeline.hidden());
  std::fprintf(out, "\n");
  std::fputs(text::labelled("", 0, sentence).c_str(), out);
  draw(out, timeline);
}

}  // namespace

double tflops(ProblemSize size, double ms) {
  return 2e-9 * size.M * size.N * size.K / ms;
}

void print(std::FILE* out, const Report& report) {
  std::fprintf(out, "\nMore than one GPU\n");
  for (const std::string& line : report.about) {
    std::fputs(text::labelled("", 0, line).c_str(), out);
  }
  std::fprintf(out, "\n");
  std::vector<Cells> lines{
      {"", "GPUs", "grid", "ms", "TFLOP/s", "of GPUs x one", "predicted ms", "error", "check"}};
  for (const Way& way : report.ways) lines.push_back(cells_of(report, way));
  print_columns(out, lines);
  for (const Way& way : report.ways) {
    if (!way.why_not.empty()) std::fprintf(out, "%s: %s\n", way.name.c_str(), way.why_not.c_str());
  }
  constexpr int kTerm = 15;
  const auto explain = [&](const char* term, const char* words) {
    std::fputs(text::labelled(term, kTerm, words).c_str(), out);
  };
  explain(
      "of GPUs x one",
      "the speed, divided by the GPUs and by the speed of one with the ladder's stage");
  explain(
      "predicted",
      "by the model: each panel travels at the link's rate, and is then multiplied, in a launch of "
      "its own");
  print_widths(out, report);
  std::fprintf(out, "\n");
  print_loads(out, report);
  explain("sent, received", "in one product; held: parts of A, B and C, and places for panels");
  if (const Timeline* model = model_of(report)) print_timeline(out, "The model's timeline", *model);
  print_timeline(out, "Measured", report.measured);
  print_recorded(out, report.gpu);
}

}  // namespace cluster
