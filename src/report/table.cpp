#include "report/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "lab/rates.h"
#include "report/about.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr int kName = 1;
constexpr int kFirstTime = 2, kLastTime = 6;  // the columns that need a run on the real machine
constexpr int kLoads = 7;                     // the first of the traced counts
constexpr int kOccupancy = kLoads + 6, kError = kOccupancy + 1, kVerdict = kError + 2;
constexpr int kColumns = kVerdict + 1;
using Cells = std::array<std::string, kColumns>;

const std::array<Cells, 3> kHeadings = {{
    {"", "", "", "Tera", "% of", "x", "% of its", "", "", "", "", "sect", "conf", "", "", "", ""},
    {"", "", "time", "FLOP", "cu-", "be-", "ceiling,", "", "", "", "", "per", "per", "occ", "", "",
     ""},
    {"#", "stage", "ms", "/s", "BLAS", "fore", "bound by", "thrd", "res", "thrd", "res", "req",
     "req", "%", "CPU", "BLAS", ""},
}};

// A heading over several columns.
struct Span {
  int line, first, last;
  const char* text;
};
constexpr Span kSpans[] = {
    {0, kLoads, kLoads + 3, "loads per"},
    {1, kLoads, kLoads + 1, "GMEM"},
    {1, kLoads + 2, kLoads + 3, "SMEM"},
    {1, kError, kError + 1, "error"},
};

std::string duration_ms(const lab::Timing& time) {
  constexpr double kInSeconds = 100000;
  const std::string text = time.median_ms < kInSeconds
                               ? text::significant(time.median_ms)
                               : text::significant(time.median_ms / 1000) + "s";
  return (time.partial ? "~" : "") + text;
}

std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "–";
}

// "3e-6": how large an error is, and no more; JSON and --explain have the rest.
std::string one_digit(double value) {
  if (value == 0 || !std::isfinite(value)) return text::printed("%g", value);
  const std::string text = text::printed("%.0e", value);
  const std::size_t e = text.find('e');
  return text.substr(0, e + 1) + std::to_string(std::atoi(text.substr(e + 1).c_str()));
}

// In four columns: 3e-4, .013, .499, 48.9, 1033.
std::string tflops_text(double value) {
  if (value < 0.001) return one_digit(value);
  return value < 1 ? text::printed("%.3f", value).substr(value < 0.9995 ? 1 : 0, 4)
                   : text::significant(value);
}

Cells cells_of(const lab::Run& run, const lab::Row& row) {
  Cells cells;
  cells.fill("–");
  if (!row.time) cells[kFirstTime] = "traced";
  cells[0] = row.number < 0 ? "" : std::to_string(row.number);
  cells[kName] = row.name;
  if (row.time) {
    cells[2] = duration_ms(*row.time);
    cells[3] = or_dash(lab::tflops(run, row), tflops_text);
    cells[4] =
        or_dash(lab::cublas_ratio(run, row), [](double ratio) { return text::brief(100 * ratio); });
    cells[5] = or_dash(lab::times_the_stage_before(run, row), text::brief);
  }
  if (const auto ceiling = lab::compiled_ceiling(run, row)) {
    const std::string unit(model::kUnitNames[ceiling->bound_by]);
    if (const auto ratio = lab::ceiling_ratio(run, row)) {
      cells[kLastTime] =
          text::pad_left(text::printed("%.0f", 100 * *ratio), 2) + " " + text::pad_right(unit, 5);
    } else {
      cells[kFirstTime] = "traced ≤ " + text::significant(ceiling->tflops) + " by " + unit;
    }
  }
  if (row.counts && row.variant) {
    const double results = lab::results_per_thread(*row.variant);
    const auto gmem = static_cast<double>(row.counts->gmem_loads.accesses.max);
    const auto smem = static_cast<double>(row.counts->smem_loads.accesses.max);
    cells[kLoads] = text::whole(gmem, 4);
    cells[kLoads + 1] = text::brief(gmem / results);
    cells[kLoads + 2] = text::whole(smem, 4);
    cells[kLoads + 3] = text::brief(smem / results);
    cells[kLoads + 4] = text::brief(lab::pieces_per_request(row.counts->gmem_loads));
    const bool uses_smem = row.counts->smem_loads.requests + row.counts->smem_stores.requests > 0;
    if (uses_smem) cells[kLoads + 5] = text::brief(lab::conflicts_per_request(*row.counts));
  }
  if (row.occupancy) cells[kOccupancy] = text::printed("%.0f", row.occupancy->percent);
  if (row.error) {
    cells[kError] = one_digit(row.error->relative);
    cells[kVerdict] = !row.error->bound_ok ? "FAIL" : row.error->overflowed > 0 ? "over" : "ok";
  }
  cells[kError + 1] = or_dash(row.cublas_error, one_digit);
  return cells;
}

// Whether what stands under `time` is no time, and reaches over the columns after it.
bool spans_times(const Cells& cells) {
  return cells[kFirstTime].starts_with("traced");
}

using Widths = std::array<int, kColumns>;

// As wide as the widest cell; a stage's name gives way where a line would be too long.
Widths widths_of(const std::vector<Cells>& rows) {
  Widths widths{};
  for (int column = 0; column < kColumns; ++column) {
    for (const Cells& heading : kHeadings) {
      widths[column] = std::max(widths[column], text::display_width(heading[column]));
    }
    for (const Cells& cells : rows) {
      if (column == kFirstTime && spans_times(cells)) continue;
      widths[column] = std::max(widths[column], text::display_width(cells[column]));
    }
  }
  int all = kColumns - 1;
  for (int width : widths) all += width;
  widths[kName] = std::max(1, widths[kName] - std::max(0, all - text::kReportWidth));
  return widths;
}

int span_width(const Widths& widths, int first, int last) {
  int width = last - first;
  for (int column = first; column <= last; ++column) width += widths[column];
  return width;
}

std::string centred(const std::string& text, int width, std::string_view filler) {
  const int free = width - text::display_width(text);
  return text::repeated(filler, free / 2) + text + text::repeated(filler, free - free / 2);
}

std::string heading_line(const Widths& widths, int line) {
  std::string text;
  for (int column = 0; column < kColumns; ++column) {
    const Span* span = std::find_if(std::begin(kSpans), std::end(kSpans), [&](const Span& s) {
      return s.line == line && s.first == column;
    });
    if (column > 0) text += ' ';
    if (span != std::end(kSpans)) {
      text += centred(
          text::printed(" %s ", span->text), span_width(widths, span->first, span->last), "─");
      column = span->last;
    } else if (column == kName) {
      text += text::pad_right(kHeadings[line][column], widths[column]);
    } else {
      text += text::pad_left(kHeadings[line][column], widths[column]);
    }
  }
  return text::without_trailing_spaces(text);
}

std::string row_line(
    const lab::Row& row, const Cells& cells, const Widths& widths, text::Style style) {
  std::string text;
  for (int column = 0; column < kColumns; ++column) {
    if (column > 0) text += ' ';
    if (column == kFirstTime && spans_times(cells)) {
      text += centred(cells[column], span_width(widths, kFirstTime, kLastTime), " ");
      column = kLastTime;
    } else if (column == kName) {
      text += text::pad_right(text::shortened(cells[column], widths[column]), widths[column]);
    } else if (column == kVerdict) {
      const bool passed = row.error && row.error->bound_ok;
      text +=
          text::coloured(cells[column], passed ? text::Colour::green : text::Colour::red, style);
    } else {
      text += text::pad_left(cells[column], widths[column]);
    }
  }
  return text;
}

std::string legend(const lab::Run& run) {
  const auto any = [&](bool (*is)(const lab::Row&)) {
    return std::any_of(run.rows.begin(), run.rows.end(), is);
  };
  constexpr int kTerm = 7;
  std::string text;
  if (any([](const lab::Row& row) { return row.time && row.time->partial; })) {
    text += text::labelled(
        "~", kTerm, "scaled up from the first rows of C: the whole loop takes too long");
  }
  if (run.gpu_present) {
    text += text::labelled(
        "time", kTerm,
        "the median of many launches, each between two events, after unmeasured ones; "
        "--explain gives the spread");
  }
  const auto any_row = [&](const auto& is) {
    return std::any_of(run.rows.begin(), run.rows.end(), is);
  };
  const bool has_ceilings =
      any_row([&](const lab::Row& row) { return !row.time && lab::compiled_ceiling(run, row); });
  if (has_ceilings) {
    text += text::labelled(
        "≤", kTerm,
        "not timed: the most TFLOP/s that this GPU can reach with the compiled kernel, "
        "because the unit named would then be busy all the time");
  }
  if (any_row([&](const lab::Row& row) { return lab::ceiling_ratio(run, row).has_value(); })) {
    text += text::labelled(
        "ceiling", kTerm + 1,
        "the TFLOP/s at which one unit of this GPU, the one named, would be busy all "
        "the time with the compiled kernel; --explain shows every unit");
  }
  const bool has_idle_sms = any_row([&](const lab::Row& row) {
    const auto ceiling = lab::compiled_ceiling(run, row);
    return ceiling && ceiling->busy_share < 0.5;
  });
  if (has_idle_sms) {
    text += text::labelled(
        "", kTerm,
        "few blocks: most SMs have nothing to do for most of the time, and a stage "
        "with larger blocks fewer still; a larger --size fills the GPU");
  }
  text += text::labelled(
      "loads", kTerm,
      "accesses as written, of the thread with the most: one float4 is one, one "
      "cp.async is one; res: the same, divided by the results of C that a thread "
      "computes");
  text += text::labelled(
      "sect", kTerm,
      "32-byte sectors that a request (one instruction of a warp) loads from GMEM; "
      "ideal is 4 for float, 16 for float4, less where lanes read the same address");
  text += text::labelled(
      "conf", kTerm,
      "bank conflicts: turns (wavefronts) of SMEM that a request takes too many, loads "
      "and stores");
  if (any([](const lab::Row& row) { return row.counts && !lab::is_total(*row.counts); })) {
    text += text::labelled(
        "", kTerm,
        "sect and conf are of the traced blocks (corners, edges, middle); --trace all "
        "traces all");
  }
  text += text::labelled("occ", kTerm, "occupancy: warps that an SM holds, of those that it could");
  text += text::labelled(
      "error", kTerm,
      "|C - reference| / |reference| (Frobenius); ok: no element is farther from the "
      "fp64 reference than rounding can explain");
  if (any([](const lab::Row& row) { return row.error && row.error->overflowed > 0; })) {
    text += text::labelled(
        "over", kTerm,
        "ok, but some elements of C, or sums on the way to them, are more than fp32 can hold: they "
        "overflow to infinity or NaN, as in every BLAS");
  }
  return text + "--stage N --explain shows a stage's formulas, arithmetic and reasons.\n";
}

}  // namespace

void print_table(std::FILE* out, const lab::Run& run, text::Style style) {
  std::vector<Cells> rows;
  for (const lab::Row& row : run.rows) rows.push_back(cells_of(run, row));
  const Widths widths = widths_of(rows);

  std::string text = about(run) + "\n";
  for (int line = 0; line < static_cast<int>(kHeadings.size()); ++line) {
    text += text::coloured(heading_line(widths, line), text::Colour::bold, style) + "\n";
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += row_line(run.rows[i], rows[i], widths, style) + "\n";
  }
  std::fputs((text + "\n" + legend(run)).c_str(), out);
}

}  // namespace report
