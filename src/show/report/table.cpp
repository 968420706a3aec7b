#include "show/report/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "model/stage.h"
#include "show/report/quantities.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

// The table, column by column; which columns leave a line that is too long, first to last; the
// counts that are compared with the stage before; and --legend, term by term.
constexpr const char* kTable =
    "number kernel_of_program launches name variant time_ms tflops cublas_ratio "
    "times_the_stage_before ceiling recorded_tflops gmem_loads smem_loads gmem_loads_per_result "
    "smem_loads_per_result gmem_bytes_per_result ideal_sectors_per_request sectors_per_request "
    "conflicts_per_request products_per_instruction bound_by ceiling.compiled_tflops "
    "ceiling.bound_by occupancy.registers occupancy.blocks_per_sm occupancy.percent "
    "error.relative cublas_error verdict";
constexpr std::pair<std::string_view, const char*> kLeaving[] = {
    {"cublas_error", "error against cuBLAS"},
    {"time_ms", "time"},
    {"error.relative", "error against CPU"},
    {"cublas_ratio", "% of cuBLAS"},
    {"occupancy.percent", "occupancy"},
    {"conflicts_per_request", "conflicts per request"},
    {"sectors_per_request", "sectors per request"},
    {"recorded_tflops", "recorded TFLOP/s"}};
constexpr const char* kCompared =
    "gmem_loads smem_loads sectors_per_request conflicts_per_request occupancy.percent";
constexpr const char* kLegend =
    "name + variant time_ms tflops bf16 fp16_parts cublas_ratio times_the_stage_before ceiling "
    "recorded_tflops bound_by units few_blocks gmem_loads gmem_loads_per_result "
    "gmem_bytes_per_result sectors_per_request ideal_sectors_per_request conflicts_per_request "
    "products_per_instruction sampled occupancy.registers occupancy.blocks_per_sm "
    "occupancy.percent error.relative verdict colour –";

// The columns of a table of this run, in order.
std::vector<const Quantity*> columns_of(const KnownRun& known, bool wide) {
  const lab::Run& run = known.run;
  const bool of_program = !run.program.empty();
  const bool of_kernels = of_program || (!run.rows.empty() && run.rows.front().launch);
  const bool is_recorded =
      std::ranges::any_of(known.rows, [](const Known& k) { return k.recorded_tflops.has_value(); });
  const unsigned is = (wide ? Column::wide : Column::every_table) |
                      (of_program ? Column::program : Column::product) |
                      (of_kernels ? Column::kernels : Column::stages) |
                      (run.gpu_present ? Column::timed : Column::traced) |
                      (is_recorded && !run.gpu_present ? Column::recorded : Column::every_table);
  std::vector<const Quantity*> columns = quantities(kTable);
  std::erase_if(columns, [&](const Quantity* q) { return (q->column.in & ~is) != 0; });
  return columns;
}

using text::Cells;
using Align = Column::Align;

// The layout of a table: the places and widths of its columns and headings.
struct TableLayout {
  std::vector<const Quantity*> columns;
  std::vector<int> widths;
  int gap;    // between columns; always one between a stage's number and name
  int width;  // of the longest line, headings included
};

// The blanks after a column.
int gap_after(const TableLayout& layout, std::size_t column) {
  return column == 0 ? 1 : layout.gap;
}

struct Label {
  std::string text;
  std::size_t first, last;  // the columns that it heads
  Align align;
};

const char* words_of(const Quantity& quantity, int line) {
  return line == 0 ? quantity.column.top : quantity.column.bottom;
}

// The labels of one line of the heading. A label that several columns share begins at the left.
// Over a column of numbers, a label is left-aligned only if it extends over a neighbour without
// one.
std::vector<Label> labels_of(const std::vector<const Quantity*>& columns, int line) {
  std::vector<Label> labels;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::string text = words_of(*columns[c], line);
    if (text.empty()) continue;
    if (!labels.empty() && labels.back().text == text && labels.back().last + 1 == c) {
      labels.back().last = c;
      labels.back().align = Align::left;
      continue;
    }
    const bool has_room = c + 1 == columns.size() || *words_of(*columns[c + 1], line) == '\0';
    const Align align = columns[c]->column.align;
    const bool on_the_left = align == Align::left || (align == Align::left_label && has_room);
    labels.push_back({text, c, c, on_the_left ? Align::left : Align::right});
  }
  return labels;
}

int begin_of(const TableLayout& layout, std::size_t column) {
  int begin = 0;
  for (std::size_t c = 0; c < column; ++c) begin += layout.widths[c] + gap_after(layout, c);
  return begin;
}

int begin_of(const TableLayout& layout, const Label& label) {
  if (label.align == Align::left) return begin_of(layout, label.first);
  const int end = begin_of(layout, label.last) + layout.widths[label.last];
  return end - text::display_width(label.text);
}

int end_of(const TableLayout& layout, const Label& label) {
  return begin_of(layout, label) + text::display_width(label.text);
}

// Widens columns until the labels of a line do not touch.
void make_room(TableLayout& layout, int line) {
  int least = 0;  // where the next label may begin
  for (const Label& label : labels_of(layout.columns, line)) {
    const int missing = least - begin_of(layout, label);
    const bool moves_with_its_own = label.align == Align::right || label.first == 0;
    if (missing > 0) layout.widths[moves_with_its_own ? label.first : label.first - 1] += missing;
    least = end_of(layout, label) + gap_after(layout, label.last);
  }
}

constexpr std::size_t kName = 1;  // the column, also in print_list

// Columns are as wide as their cells, two blanks apart if everything fits into `most`, else one. A
// heading may be wider than its column. It then extends over its neighbour, unless the neighbour
// has a label in the same line, or names. A right-aligned cell may extend into the free space of a
// name before it.
TableLayout laid_out(
    const std::vector<const Quantity*>& columns, const std::vector<Cells>& rows, int most,
    int gap = 2) {
  TableLayout layout{columns, std::vector<int>(columns.size(), 1), gap, 0};
  std::vector<int>& widths = layout.widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const auto is_left = [&](std::size_t at) { return columns[at]->column.align == Align::left; };
    const bool may_reach_left = c > 0 && !is_left(c) && is_left(c - 1);
    const bool is_after_names = may_reach_left && c == kName + 1;
    const int least = is_after_names ? text::display_width(columns[c]->column.bottom) : 0;
    for (const Cells& cells : rows) {
      const int free = may_reach_left ? widths[c - 1] - text::display_width(cells[c - 1]) : 0;
      widths[c] = std::max(widths[c], std::max(least, text::display_width(cells[c])) - free);
    }
  }
  for (const int line : {0, 1}) make_room(layout, line);
  layout.width = begin_of(layout, columns.size()) - gap;
  for (const int line : {0, 1}) {
    for (const Label& label : labels_of(columns, line)) {
      layout.width = std::max(layout.width, end_of(layout, label));
    }
  }
  return layout.width <= most || gap == 1 ? layout : laid_out(columns, rows, most, 1);
}

std::string heading_line(const TableLayout& layout, int line) {
  std::string text;
  for (const Label& label : labels_of(layout.columns, line)) {
    text += text::repeated(" ", begin_of(layout, label) - text::display_width(text)) + label.text;
  }
  return text;
}

constexpr int kTerm = 12;

// Which stages' unit is not always busy at the ceiling: the split of A and B comes before.
std::string after_a_split(const std::vector<Known>& rows) {
  std::string first, last;
  for (const Known& known : rows) {
    if (!known.compiled || known.compiled->before_ms == 0) continue;
    last = std::to_string(known.row.number);
    if (first.empty()) first = last;
  }
  if (first.empty()) return "";
  return " (" + (first == last ? first : first + " to " + last) + ": after the split)";
}

// The most urgent first.
std::vector<Legend> entries_of(const KnownRun& known, const std::string& left_out, int width) {
  const lab::Run& run = known.run;
  std::vector<Legend> entries;
  const auto add = [&](bool applies, const char* term, const std::string& words) {
    if (applies) entries.push_back({term, words});
  };
  const auto any = [&](const auto& is) { return std::ranges::any_of(known.rows, is); };
  const bool timed = run.gpu_present;
  std::string slowed;
  for (const Known& k : known.rows) {
    if (number("device.throttled", k) == 1) slowed += (slowed.empty() ? "" : ", ") + k.row.name;
  }
  add(!left_out.empty(), "left out",
      left_out +
          text::printed(": %d columns are too few; --wide prints all", text::report_width()));
  add(width > text::report_width(), "wide",
      text::printed("lines of %d columns; a pipe into less -S keeps each whole", width));
  add(!slowed.empty(), "throttled",
      slowed + ": the GPU lowered its clock; --explain says why, and how far");
  add(any([](const Known& k) { return k.is_for_small; }), "+",
      "not the stage's first tile: see \"tiles\" above");
  add(any([columns = columns_of(known, true)](const Known& k) {
        return std::ranges::any_of(
            columns, [&](const Quantity* column) { return is_of_a_sample(*column, k.row); });
      }),
      "~", "the mean of a few blocks, which differ; --trace all counts all of them");
  add(any([](const Known& k) { return k.row.variant && model::multiplies_bf16(*k.row.variant); }),
      "bf16",
      "A and B are rounded to bf16 before the kernel and its clock start; also for cuBLAS bf16");
  for (const lab::Row& row : run.rows) {
    add(row.stood_in > 0, "stand-in", stand_in_words(row.stood_in));
  }
  add(any([](const Known& k) { return k.row.unfit_data; }), "n/a", kUnfitData);
  add(any([](const Known& k) { return k.row.error && k.row.error->forgiven; }), "tiny",
      "right but for numbers of A or B that are too small for the stage's format, and lost");
  add(!model::has_clock(run.gpu), "no clock",
      "the " + run.gpu.name + " only counts: it has no times and no ceilings");
  add(any([](const Known& k) { return k.row.error && k.row.error->overflowed > 0; }), "over",
      "ok, but some results are beyond the range of fp32: infinity or NaN");
  const bool has_idle_sms =
      any([](const Known& k) { return k.compiled && k.compiled->busy_share < 0.5; });
  add(has_idle_sms, "few blocks",
      "most SMs are idle most of the time; a larger --size fills the GPU");
  add(any([](const Known& k) { return k.bound.has_value(); }), "bound by",
      "the busiest unit and the % of the time that it is busy. " + latency_words());
  add(any([](const Known& k) { return !k.row.time && k.compiled; }), "ceiling",
      "the most that this GPU can reach: its unit is always busy" + after_a_split(known.rows));
  add(!timed && !has_idle_sms && !known.why_lower.empty(), "lower", known.why_lower);
  add(!timed && any([](const Known& k) { return k.recorded_tflops.has_value(); }), "recorded",
      "the speed on this GPU at this size, as recorded in results/");
  add(true, "loads",
      std::string("as written: a float4 or cp.async is one") +
          (any([](const Known& k) { return has_boxes(k.row); })
               ? ", " + std::string(kBox) + " a box"
               : "") +
          ". GMEM, SMEM: global, shared memory");
  add(true, "per request",
      text::printed(
          "of a warp: %d-byte sectors of a GMEM load; bank conflicts in SMEM",
          run.gpu.warp.sector_bytes));
  add(any([](const Known& k) { return k.row.time && k.row.time->partial; }), "~ of a time",
      "scaled up from the first rows of C");
  const bool of_program = !run.program.empty();
  add(of_program, "launches",
      std::string("of the program; what the first one of each kernel did is counted") +
          (timed ? "; the time is the median of all on the GPU, each between two events, so it "
                   "includes the overhead of a launch"
                 : ""));
  add(!of_program, "ok", "no result is farther from the fp64 reference than rounding can explain");
  return entries;
}

// At most six lines below the table: what a reader of this run's table has to know.
std::string short_legend(const KnownRun& known, const std::string& left_out, int width) {
  constexpr int kMostLines = 6;
  const std::string more = text::labelled(
      "", 0, "--legend explains every column, --wide prints more, --explain has the reasons.");
  const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
  std::string text;
  for (const auto& [term, words] : entries_of(known, left_out, width)) {
    const std::string next = text::labelled(term, kTerm, words);
    if (lines(text) + lines(next) + lines(more) <= kMostLines) text += next;
  }
  return text + more;
}

}  // namespace

void print_legend(std::FILE* out) {
  std::string text = "What the columns of the table mean:\n\n";
  for (const Quantity* quantity : quantities(kLegend)) {
    text += text::labelled(quantity->legend.term, kTerm + 1, quantity->legend.words);
  }
  std::fputs(text.c_str(), out);
}

namespace {

std::vector<Cells> cells_of(
    const std::vector<Known>& known, const std::vector<const Quantity*>& columns) {
  std::vector<Cells> rows;
  for (const Known& row : known) {
    Cells& cells = rows.emplace_back();
    for (const Quantity* column : columns) cells.push_back(cell_of(*column, row));
  }
  return rows;
}

// The count in which the row differs most from the stage before, by its ratio; null if the run does
// not have the stage before, or no count differs.
const Quantity* most_changed(
    const std::vector<const Quantity*>& columns, const std::vector<Known>& rows, const Known& row) {
  if (row.before == nullptr) return nullptr;
  const Known& before = rows[row.before - row.run.rows.data()];
  constexpr double kLeast = 0.05;  // a ragged edge
  const Quantity* found = nullptr;
  double most = kLeast;
  for (const Quantity* column : quantities(kCompared)) {
    if (std::ranges::count(columns, column) == 0) continue;
    const FactValue now = column->value(row), then = column->value(before);
    if (now.kind == FactValue::null || then.kind == FactValue::null) continue;
    // One is added to both counts, so that there is a ratio if one of them is 0.
    const double change = std::abs(std::log2((now.number + 1) / (then.number + 1)));
    if (change <= most) continue;
    most = change;
    found = column;
  }
  return found;
}

// With colour for the verdict and for what changed most.
std::string row_line(
    const TableLayout& layout, const Known& row, const Cells& cells, const Quantity* changed,
    text::Style style) {
  std::string line;
  int filled = 0, begin = 0;  // columns on the screen
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const Quantity* const quantity = layout.columns[c];
    const int width = text::display_width(cells[c]);
    const bool is_left = quantity->column.align == Align::left;
    const int at = is_left ? begin : begin + layout.widths[c] - width;
    const bool is_verdict = c + 1 == cells.size() && row.row.error;
    const text::Colour colour = !is_verdict               ? text::Colour::yellow
                                : row.row.error->bound_ok ? text::Colour::green
                                                          : text::Colour::red;
    line += text::repeated(" ", at - filled);
    line += is_verdict || quantity == changed ? text::coloured(cells[c], colour, style) : cells[c];
    filled = at + width;
    begin += layout.widths[c] + gap_after(layout, c);
  }
  return text::without_trailing_spaces(line);
}

}  // namespace

void print_table(std::FILE* out, const KnownRun& known, text::Style style, bool wide) {
  const int most = wide ? std::numeric_limits<int>::max() : text::report_width();
  std::vector<const Quantity*> columns = columns_of(known, wide);
  std::vector<Cells> rows = cells_of(known.rows, columns);
  TableLayout layout = laid_out(columns, rows, most);
  std::string left_out;
  for (const auto& [path, name] : kLeaving) {
    if (layout.width <= most) break;
    const auto gone = std::ranges::find(columns, path, &Quantity::path);
    if (gone == columns.end()) continue;
    left_out += (left_out.empty() ? "" : ", ") + std::string(name);
    columns.erase(gone);
    rows = cells_of(known.rows, columns);
    layout = laid_out(columns, rows, most);
  }
  if (layout.width > most) {
    const int name = std::max(1, layout.widths[kName] - (layout.width - most));
    for (Cells& cells : rows) cells[kName] = text::shortened(cells[kName], name);
    layout = laid_out(columns, rows, most);
  }

  std::vector<const Quantity*> changed;
  for (const Known& row : known.rows) changed.push_back(most_changed(columns, known.rows, row));

  std::string text = about(known);
  if (!known.run.program.empty() && rows.empty()) {
    std::fputs((text + "It has launched no kernel.\n").c_str(), out);
    return;
  }
  text += "\n";
  for (const int line : {0, 1}) {
    text += text::coloured(heading_line(layout, line), text::Colour::bold, style) + "\n";
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += row_line(layout, known.rows[i], rows[i], changed[i], style) + "\n";
  }
  std::fputs((text + "\n" + short_legend(known, left_out, layout.width)).c_str(), out);
}

namespace {

constexpr const char* kSerial = "serial";  // stage 0 is not a kernel, and is in no stage table

struct Listed {
  const model::Stage& stage;
  const model::Variant& variant;
  bool chosen;  // it runs, unless --variant names another
};

std::vector<Listed> listed(std::span<const model::Stage> stages, const ChoiceFor& choice) {
  std::vector<Listed> all;
  for (const model::Stage& stage : stages) {
    for (const model::Variant& v : stage.variants) {
      const auto& suited = model::suited_variant(stage, choice.gpu, choice.M, choice.N, choice.K);
      all.push_back({stage, v, &v == &suited});
    }
  }
  return all;
}

// "default" is the stage's first variant, for large products.
std::vector<Fact> facts_of(const Listed& listed) {
  const auto& [stage, v, chosen] = listed;
  return {
      {"number", stage.number},
      {"name", stage.name},
      {"variant", v.name},
      {"default", &v == stage.variants.data()},
      {"for_small", v.for_small},
      {"chosen", chosen},
      {"BM", v.BM},
      {"BN", v.BN},
      {"BK", v.BK},
      {"WM", v.WM},
      {"WN", v.WN},
      {"TM", v.TM},
      {"TN", v.TN},
      {"pipeline", v.pipeline},
      {"threads_per_block", v.threads()},
      {"smem_bytes_dynamic", v.shared_bytes},
      {"cuts_tiles", v.share_out != nullptr},
      {"kernel", v.kernel.name},
      {"kernel_any", v.kernel_any.name},
      {"needs_compute_capability", stage.needs.hardware}};
}

// "8x8", or nothing if a stage has no such tile.
std::string tile(int rows, int columns) {
  if (rows < 1 && columns < 1) return "–";
  return text::printed("%dx%d", std::max(rows, 1), std::max(columns, 1));
}

std::string count(int value) {
  return value > 0 ? std::to_string(value) : "–";
}

// On a narrow terminal, a stage's name has a line of its own, above its variants.
std::string laid_out(const std::vector<Cells>& lines) {
  std::vector<int> widths = text::widths_of(lines, 3);
  widths[0] = -widths[0];  // the number's column is right-aligned
  int all = static_cast<int>(widths.size()) - 1;
  for (const int width : widths) all += std::abs(width);
  const bool narrow = all > text::report_width();
  if (narrow) widths.erase(widths.begin() + kName);
  std::string text;
  for (Cells cells : lines) {
    const std::string name = cells[kName];
    if (narrow) cells.erase(cells.begin() + kName);
    if (narrow && !name.empty()) {
      text += text::pad_left(std::exchange(cells[0], ""), widths[0]) + " " + name + "\n";
      if (name == kSerial) continue;  // it has no variants
    }
    text += text::in_columns(cells, widths);
  }
  return text;
}

// The stages that need memory besides A, B and C.
std::string memory_for_sums(const std::vector<Listed>& list, const ChoiceFor& choice, int term) {
  std::string numbers;
  std::int64_t most = 0;  // floats
  const model::Stage* last = nullptr;
  for (const auto& [stage, v, chosen] : list) {
    if (v.share_out == nullptr || v.contrast != nullptr) continue;
    most = std::max(most, std::int64_t{2} * v.BM * v.BN * choice.gpu.sms);
    if (std::exchange(last, &stage) == &stage) continue;
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(stage.number);
  }
  if (most == 0) return "";
  return text::labelled(
      "memory", term,
      "stages " + numbers +
          " can keep sums of slices of tiles in GPU memory, at most two tiles per SM: " +
          text::significant(4e-6 * static_cast<double>(most)) + " MB on the " + choice.gpu.name +
          ", allocated once");
}

std::string as_table(const std::vector<Listed>& list, const ChoiceFor& choice) {
  const std::string none = "–";
  std::vector<Cells> lines = {
      {"", "", "", "block", "", "warp", "thread", "", "threads", "dynamic", "needs"},
      {"#", "stage", "variant", "BMxBN", "BK", "WMxWN", "TMxTN", "tiles", "per block", "SMEM B",
       "sm_"},
      {"0", kSerial, "", none, none, none, none, none, none, none, none}};
  for (const auto& [stage, v, chosen] : list) {
    const bool first = &v == stage.variants.data();
    const bool may_run = first || v.for_small || v.for_few_results;
    const char* const mark = stage.variants.size() == 1 ? "" : chosen ? " *" : may_run ? " +" : "";
    lines.push_back(
        {first ? std::to_string(stage.number) : "", first ? stage.name : "",
         std::string(v.name) + mark, tile(v.BM, v.BN), count(v.BK), tile(v.WM, v.WN),
         tile(v.TM, v.TN), count(v.pipeline), text::grouped(v.threads()),
         v.shared_bytes > 0 ? text::grouped(v.shared_bytes) : none,
         stage.needs.hardware > 0
             ? std::to_string(stage.needs.hardware) + (stage.needs.only_there ? "a" : "")
             : "any"});
  }
  std::string gpus;
  for (const model::Gpu& gpu : model::known_gpus()) gpus += (gpus.empty() ? "" : ", ") + gpu.name;
  constexpr int kSign = 7;
  return laid_out(lines) + "\n" +
         text::labelled(
             "*", kSign,
             "runs unless --variant NAME names another: it suits C (" + std::to_string(choice.M) +
                 " x " + std::to_string(choice.N) + ") on the " + choice.gpu.name) +
         text::labelled(
             "+", kSign,
             "runs for other sizes or GPUs (--size, --gpu). A stage's first variant is for large "
             "products. One below it runs if the SM with the most tiles then computes at most 3/4 "
             "of the results, or no more of them with more warps where it has fewer than 12 and "
             "the stage keeps no tiles in flight. With tensor cores, it runs if that SM's products "
             "and loads then take at most 7/10 of the time") +
         text::labelled("tiles", kSign, "in flight at once") +
         text::labelled(
             "SMEM", kSign,
             "shared memory requested at launch; what a kernel declares is added to it") +
         memory_for_sums(list, choice, kSign) + text::labelled("GPUs", kSign, "for --gpu: " + gpus);
}

}  // namespace

void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice,
    flags::Format format) {
  const std::vector<Listed> list = listed(stages, choice);
  std::vector<std::vector<Fact>> all;
  for (const Listed& one : list) all.push_back(facts_of(one));
  std::string text;
  if (format == flags::Format::table) {
    text = as_table(list, choice);
  } else if (format == flags::Format::json) {
    text = "{\n" + json_array("variants", all) + "\n}\n";
  } else {
    text = csv_names(all.front());
    for (const std::vector<Fact>& facts : all) text += csv_values(facts);
  }
  std::fputs(text.c_str(), out);
}

}  // namespace report
