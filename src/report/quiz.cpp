#include "report/quiz.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/run.h"
#include "report/predicted.h"
#include "text/numbers.h"

namespace report {

namespace {

// The next line without its end; none where there is no more, or it has no end.
std::optional<std::string> read_line(std::FILE* in) {
  constexpr std::size_t kMostBytes = 1 << 16;
  std::string line;
  int letter = std::fgetc(in);
  if (letter == EOF) return std::nullopt;
  for (; letter != EOF && letter != '\n'; letter = std::fgetc(in)) {
    if (letter != '\r') line += static_cast<char>(letter);
    if (line.size() > kMostBytes) return std::nullopt;
  }
  return line;
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t") == std::string::npos;
}

std::string judged(double predicted, double value) {
  const std::string is = "it is " + text::exact(value);
  if (std::abs(predicted - value) < 0.005 * std::max(1.0, std::abs(value)))
    return "Right: " + is + ".";
  std::string text = "You said " + text::exact(predicted) + ", " + is + ": " +
                     text::exact(std::abs(predicted - value)) +
                     (predicted < value ? " too few" : " too many");
  if (predicted > 0) {
    const double times = predicted < value ? value / predicted : predicted / value;
    text += ", or a factor of " + text::exact(std::round(100 * times) / 100);
  }
  return text + ".";
}

}  // namespace

std::vector<AskedCount> asked_counts(const lab::Row& row) {
  const model::Counts& c = *row.counts;
  std::vector<AskedCount> counts;
  const auto add = [&](const std::string& what, double value) {
    if (value > 0) counts.push_back({what, value});
  };
  const auto most = [](const model::Traffic& traffic) {
    return static_cast<double>(traffic.accesses.max);
  };
  add("GMEM loads per thread", most(c.gmem_loads));
  add("SMEM loads per thread", most(c.smem_loads));
  add("GMEM stores per thread", most(c.gmem_stores));
  add("SMEM stores per thread", most(c.smem_stores));
  add("sectors per GMEM load request of a warp, on average", lab::pieces_per_request(c.gmem_loads));
  add("wavefronts per SMEM load request of a warp, on average",
      lab::pieces_per_request(c.smem_loads));
  if (row.occupancy) add("blocks per SM", row.occupancy->blocks_per_sm);
  return counts;
}

bool quiz(std::FILE* in, std::FILE* out, const lab::Run& run, const lab::Row& row) {
  const std::vector<model::Named> names = formula_names(run, row);
  std::string known;
  for (const model::Named& name : names)
    known += (known.empty() ? "" : ", ") + std::string(name.name);
  std::fprintf(
      out, "\n%s",
      text::labelled(
          "", 0,
          "Predict first; then the counts are shown. Type a number or a formula of " + known +
              ". An empty line skips a question.")
          .c_str());
  for (const AskedCount& count : asked_counts(row)) {
    for (bool asked = true; asked;) {
      std::fprintf(out, "  %s? ", count.what.c_str());
      std::fflush(out);
      const std::optional<std::string> line = read_line(in);
      if (!line) {
        std::fprintf(
            out,
            "\n  Without your predictions no counts are shown; leave --ask out to see them.\n");
        return false;
      }
      asked = false;
      if (is_blank(*line)) {
        std::fprintf(out, "    It is %s.\n", text::exact(count.value).c_str());
        continue;
      }
      try {
        const double predicted = model::evaluate(*line, names);
        if (!std::isfinite(predicted)) throw std::invalid_argument("that is not a finite number");
        std::fprintf(out, "    %s\n", judged(predicted, count.value).c_str());
      } catch (const std::invalid_argument& error) {
        std::fprintf(
            out, "%s", text::labelled("", 4, std::string(error.what()) + ". Try again:").c_str());
        asked = true;
      }
    }
  }
  return true;
}

}  // namespace report
