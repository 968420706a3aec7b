#include "cluster/report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "text/columns.h"
#include "text/numbers.h"

namespace cluster {

namespace {

using text::Cells;

void print_columns(std::FILE* out, const std::vector<Cells>& lines) {
  const std::vector<int> widths = text::widths_of(lines);
  for (const Cells& cells : lines) std::fputs(text::in_columns(cells, widths, 2).c_str(), out);
}

Cells cells_of(const Report& report, const Row& row) {
  const std::string none = "–";
  Cells cells{row.name, std::to_string(row.gpus), row.grid.empty() ? none : row.grid};
  if (row.time) {
    const double speed = tflops(report.shape, row.time->median_ms);
    cells.push_back(text::significant(row.time->median_ms));
    cells.push_back(text::significant(speed));
    cells.push_back(
        report.one_gpu_tflops > 0
            ? text::printed("%.2f", speed / (row.gpus * report.one_gpu_tflops))
            : none);
  } else {
    cells.insert(cells.end(), 3, none);
  }
  cells.push_back(row.predicted_ms ? text::significant(*row.predicted_ms) : none);
  cells.push_back(row.error ? text::printed("%.1e", row.error->relative) : none);
  cells.push_back(!row.error ? none : row.error->bound_ok ? "ok" : "WRONG");
  return cells;
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
  if (report.widths.empty()) return;
  std::fprintf(out, "\n");
  std::vector<Cells> lines{{"panels", "wide", "ms", "predicted ms", ""}};
  for (const auto& [plan, model, ms] : report.widths) {
    const bool is_chosen = static_cast<int>(lines.size()) == report.chosen + 1;
    lines.push_back(
        {text::printed("%d", plan.steps()), text::printed("%d", plan.panel),
         ms ? text::significant(*ms) : "–", model.is_told() ? text::significant(model.ms()) : "–",
         is_chosen ? "chosen" : ""});
  }
  print_columns(out, lines);
}

void print_recorded(std::FILE* out, const std::vector<RecordedProduct>& products) {
  if (products.empty()) return;
  std::fprintf(
      out, "\nThe model's error with each product that is recorded on the %s\n",
      products.front().gpu.c_str());
  std::vector<Cells> lines{
      {"", "GPUs", "grid", "multiplied by", "ms", "predicted ms", "its error"}};
  for (const RecordedProduct& product : products) {
    const auto [M, N, K] = product.shape;
    const std::optional<double> predicted = predicted_ms(product);
    lines.push_back(
        {text::printed("%d x %d x %d", M, N, K) + (product.resident ? "" : ", from the host"),
         text::printed("%d", product.grid.devices()), in_words(product.grid), product.local,
         text::significant(product.ms), predicted ? text::significant(*predicted) : "–",
         predicted ? text::printed("%+.1f %%", 100 * (*predicted / product.ms - 1)) : "–"});
  }
  print_columns(out, lines);
}

void print_timeline(std::FILE* out, const char* what, const Timeline& timeline) {
  if (timeline.spans.empty()) return;
  const std::string sentence = text::printed(
      "%s: %s ms; %.0f %% of the time in which panels travel, their GPU also multiplies", what,
      text::significant(timeline.ms()).c_str(), 100 * timeline.hidden());
  std::fprintf(out, "\n");
  for (const std::string& line : text::wrapped(sentence, text::report_width())) {
    std::fprintf(out, "%s\n", line.c_str());
  }
  for (const std::string& line : drawn(timeline, text::report_width())) {
    std::fprintf(out, "%s\n", line.c_str());
  }
}

}  // namespace

int fastest(const std::vector<Width>& widths) {
  const auto sooner = [](const Width& a, const Width& b) { return a.model.ms() < b.model.ms(); };
  return static_cast<int>(std::min_element(widths.begin(), widths.end(), sooner) - widths.begin());
}

double tflops(Shape shape, double ms) {
  return 2e-9 * shape.M * shape.N * shape.K / ms;
}

std::vector<std::string> drawn(const Timeline& timeline, int width) {
  constexpr std::array kLanes = {"arrives", "multiplies", "leaves"};
  int devices = 0;
  for (const Span& span : timeline.spans) devices = std::max(devices, span.device + 1);
  const int label = text::display_width(text::printed("GPU %d multiplies ", devices - 1));
  const int columns = std::max(width - label - 1, 1);
  const double ms_per_column = timeline.ms() / columns;
  std::vector<std::string> lines;
  for (int device = 0; device < devices; ++device) {
    for (int lane = 0; lane < static_cast<int>(kLanes.size()); ++lane) {
      std::string line(columns, ' ');
      bool has_any = false;
      for (const Span& span : timeline.spans) {
        if (span.device != device || static_cast<int>(span.lane) != lane) continue;
        has_any = true;
        if (span.end_ms <= span.begin_ms) continue;
        const int begin = static_cast<int>(std::floor(span.begin_ms / ms_per_column));
        const int end = static_cast<int>(std::ceil(span.end_ms / ms_per_column));
        for (int column = begin; column < std::min(end, columns); ++column) {
          line[column] = static_cast<char>('0' + span.step % 10);
        }
      }
      if (!has_any) continue;
      lines.push_back(text::without_trailing_spaces(
          text::pad_right(text::printed("GPU %d %s", device, kLanes[lane]), label) + "|" + line));
    }
  }
  return lines;
}

void print(std::FILE* out, const Report& report) {
  std::fprintf(out, "\nMore than one GPU\n");
  for (const std::string& about : report.about) {
    for (const std::string& line : text::wrapped(about, text::report_width())) {
      std::fprintf(out, "%s\n", line.c_str());
    }
  }
  std::fprintf(out, "\n");
  std::vector<Cells> lines{
      {"", "GPUs", "grid", "ms", "TFLOP/s", "of GPUs x one", "predicted ms", "error", "check"}};
  for (const Row& row : report.rows) lines.push_back(cells_of(report, row));
  print_columns(out, lines);
  for (const Row& row : report.rows) {
    if (!row.why_not.empty()) std::fprintf(out, "%s: %s\n", row.name.c_str(), row.why_not.c_str());
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
  print_timeline(out, "The model's timeline", report.model);
  print_timeline(out, "Measured", report.measured);
  print_recorded(out, report.recorded);
}

}  // namespace cluster
