#include "report/explain/sections.h"

#include <algorithm>
#include <string_view>

#include "lab/run.h"
#include "report/explain/words.h"
#include "report/predicted.h"
#include "text/numbers.h"

namespace report {

namespace {

// One figure of a thread: its name, where the prediction and the traced counts are.
struct Figure {
  const char* what;
  const char* unit;
  const char* model::Predicted::*formula;
  double PredictedCounts::*predicted;
  model::PerThread model::Traffic::*traced;
  model::Traffic model::Counts::*of;
};

constexpr Figure kFigures[] = {
    {"GMEM loads", "accesses", &model::Predicted::gmem_loads, &PredictedCounts::gmem_loads,
     &model::Traffic::accesses, &model::Counts::gmem_loads},
    {"", "floats", &model::Predicted::gmem_floats, &PredictedCounts::gmem_floats,
     &model::Traffic::floats, &model::Counts::gmem_loads},
    {"SMEM loads", "accesses", &model::Predicted::smem_loads, &PredictedCounts::smem_loads,
     &model::Traffic::accesses, &model::Counts::smem_loads},
    {"", "floats", &model::Predicted::smem_floats, &PredictedCounts::smem_floats,
     &model::Traffic::floats, &model::Counts::smem_loads},
    {"GMEM stores", "accesses", &model::Predicted::gmem_stores, &PredictedCounts::gmem_stores,
     &model::Traffic::accesses, &model::Counts::gmem_stores},
    {"SMEM stores", "accesses", &model::Predicted::smem_stores, &PredictedCounts::smem_stores,
     &model::Traffic::accesses, &model::Counts::smem_stores},
    {"cp.async", "copies", &model::Predicted::async_copies, &PredictedCounts::async_copies,
     &model::Traffic::accesses, &model::Counts::async_gmem},
};

bool agrees(const Figure& figure, const PredictedCounts& expected, const model::Counts& counts) {
  const model::PerThread& traced = counts.*figure.of.*figure.traced;
  return expected.*figure.predicted == static_cast<double>(traced.max);
}

// Why a traced thread may do other than the formula says, as far as the shape tells.
std::string why_they_differ(const lab::Run& run, const lab::Row& row) {
  const model::Variant& v = *row.variant;
  if (run.M < v.BM || run.N < v.BN) {
    return "C is smaller than a block's tile: no block is an interior one, so no thread does all "
           "that the formula counts.";
  }
  const model::ShareOut shares = lab::shares(run, v);
  if (shares.parts > 1 && shares.whole > 0) {
    return "Some tiles of C are whole and others are cut along K: the formula counts for a thread "
           "with a whole tile. A thread that adds up parts stores more, and one with a part alone "
           "loads less.";
  }
  if (shares.parts > 1 && run.K % (shares.depth * v.BK) != 0) {
    return "The parts of a tile differ in length: the formula counts for a long part whose block "
           "also adds up, and here the block with the short one did that.";
  }
  if (v.BK > 0 && run.K % v.BK != 0) {
    return text::printed(
        "K = %d is not a multiple of BK = %d: in the last tile some threads have nothing to copy.",
        run.K, v.BK);
  }
  return "The shape gives no reason: the kernel does not do what the stage table says, or no "
         "interior block was traced.";
}

std::string counts_per_thread(const lab::Run& run, const lab::Row& row, text::Style style) {
  const int wide = text::report_width() < text::kReportWidth ? 8 : 12;
  const auto line = [&](const char* what, const char* unit, const std::string& predicted,
                        const std::string& min, const std::string& mean, const std::string& max,
                        const std::string& each, const std::string& mark) {
    return "  " + text::printed(
                      "%-11s %-8s %*s %*s %*s %*s %*s  %s\n", what, unit, std::max(wide, 10),
                      predicted.c_str(), wide, min.c_str(), wide, mean.c_str(), wide, max.c_str(),
                      wide + 2, each.c_str(), mark.c_str());
  };
  const bool predictable = row.stage != nullptr;
  const PredictedCounts expected = predicted(run, row).value_or(PredictedCounts{});
  const double results = lab::results_per_thread(*row.variant);
  std::string text = heading("What one thread does", style);
  text += line("", "", predictable ? "predicted," : "", "traced:", "", "", "traced max", "");
  text += line("", "", predictable ? "interior" : "", "min", "mean", "max", "per result", "");
  bool all_agree = true;
  for (const Figure& figure : kFigures) {
    const double prediction = expected.*figure.predicted;
    const model::PerThread none;
    const model::PerThread& traced = row.counts ? (*row.counts).*figure.of.*figure.traced : none;
    if (figure.formula == &model::Predicted::async_copies && prediction == 0 && traced.max == 0)
      continue;
    if (!row.counts || row.counts->threads_traced == 0) {
      text += line(figure.what, figure.unit, text::exact(prediction), "-", "-", "-", "-", "");
      continue;
    }
    const bool same = !predictable || agrees(figure, expected, *row.counts);
    all_agree = all_agree && same;
    const double mean =
        static_cast<double>(traced.sum) / static_cast<double>(row.counts->threads_traced);
    const std::string mark = !predictable ? ""
                             : same       ? text::coloured("=", text::Colour::green, style)
                                          : text::coloured("DIFFERS", text::Colour::red, style);
    text += line(
        figure.what, figure.unit, predictable ? text::exact(prediction) : "",
        text::grouped(traced.min), text::exact(mean), text::grouped(traced.max),
        text::exact(static_cast<double>(traced.max) / results), mark);
  }
  text += fact(
      "accesses", "as written, of any width; a cp.async is both a GMEM load and an SMEM store");
  if (!all_agree) text += fact("differs", why_they_differ(run, row));
  return text;
}

std::string formulas(const lab::Run& run, const lab::Row& row, text::Style style) {
  const std::vector<model::Named> names = formula_names(run, row);
  const PredictedCounts expected = *predicted(run, row);
  std::string text = heading("Where the predicted counts come from", style);
  std::string_view before;
  for (const Figure& figure : kFigures) {
    const char* formula = formulas_of(row).*figure.formula;
    const std::string_view formula_text = formula ? formula : "0";
    // Where every access is one float, the floats' formula is the accesses' again.
    const bool floats = *figure.what == '\0';
    const bool repeated_formula = floats && formula_text == before;
    before = formula_text;
    if (repeated_formula || formula_text == "0") continue;
    const std::string numbers = with_numbers(formula_text, names);
    const std::string value = text::exact(expected.*figure.predicted);
    const std::string worked_out = "= " + (numbers != value ? numbers + " = " : "") + value;
    const std::string in_one = std::string(formula_text) + " " + worked_out;
    const char* label = floats ? "  in floats" : figure.what;
    if (kIndent + kLabel + text::display_width(in_one) <= text::report_width()) {
      text += fact(label, in_one);
    } else {
      text += fact(label, formula_text) + fact("", worked_out);
    }
  }
  return text;
}

// What one thread does, as a table of Markdown.
std::string counts_table(const lab::Run& run, const lab::Row& row) {
  const PredictedCounts expected = predicted(run, row).value_or(PredictedCounts{});
  std::string text =
      "\nWhat one thread does\n\n"
      "| per thread | unit | formula | predicted | traced min | traced max |\n"
      "|---|---|---|---:|---:|---:|\n";
  std::string_view what;
  for (const Figure& figure : kFigures) {
    if (*figure.what != '\0') what = figure.what;
    const model::PerThread& traced = (*row.counts).*figure.of.*figure.traced;
    if (expected.*figure.predicted == 0 && traced.max == 0) continue;
    const char* formula = formulas_of(row).*figure.formula;
    text += "| " + std::string(what) + " | " + figure.unit + " | `" + (formula ? formula : "0") +
            "` | " + text::exact(expected.*figure.predicted) + " | " + text::grouped(traced.min) +
            " | " + text::grouped(traced.max) + " |\n";
  }
  return text;
}

}  // namespace

std::vector<Part> explain_counts(const Explained& explained) {
  const auto& [run, row, style, whole, format] = explained;
  std::vector<Part> parts;
  if (row.stage && row.variant) {
    if (format == Format::markdown && row.counts) {
      parts.push_back({counts_table(run, row), Part::table});
    } else {
      parts.push_back({counts_per_thread(run, row, style)});
    }
    if (!whole) parts.push_back({formulas(run, row, style)});
  } else if (row.launch && row.variant && row.counts) {
    parts.push_back({counts_per_thread(run, row, style)});
  }
  if (row.variant && row.counts) parts.push_back({requests_of_warps(*row.counts, style)});
  return parts;
}

}  // namespace report
