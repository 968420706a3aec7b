#include "show/report/table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "lab/run.h"
#include "model/stage.h"
#include "show/report/words.h"
#include "text/numbers.h"

namespace report {

namespace {

using Align = Column::Align;

struct Label {
  std::string text;
  std::size_t first, last;  // the columns that it heads
  Align align;
};

const char* words_of(const Column& column, int line) {
  return line == 0 ? column.top : column.bottom;
}

// The labels of one line of the heading. A label that several columns share begins at the left.
// Over a column of numbers, a label is left-aligned only if it extends over a neighbour without
// one.
std::vector<Label> labels_of(const std::vector<const Column*>& columns, int line) {
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
    const bool on_the_left = columns[c]->cells == Align::left || has_room;
    labels.push_back({text, c, c, on_the_left ? columns[c]->label : Align::right});
  }
  return labels;
}

int begin_of(const Layout& layout, std::size_t column) {
  int begin = 0;
  for (std::size_t c = 0; c < column; ++c) begin += layout.widths[c] + gap_after(layout, c);
  return begin;
}

int begin_of(const Layout& layout, const Label& label) {
  if (label.align == Align::left) return begin_of(layout, label.first);
  const int end = begin_of(layout, label.last) + layout.widths[label.last];
  return end - text::display_width(label.text);
}

int end_of(const Layout& layout, const Label& label) {
  return begin_of(layout, label) + text::display_width(label.text);
}

// Widens columns until the labels of a line do not touch.
void make_room(Layout& layout, int line) {
  int least = 0;  // where the next label may begin
  for (const Label& label : labels_of(layout.columns, line)) {
    const int missing = least - begin_of(layout, label);
    const bool moves_with_its_own = label.align == Align::right || label.first == 0;
    if (missing > 0) layout.widths[moves_with_its_own ? label.first : label.first - 1] += missing;
    least = end_of(layout, label) + gap_after(layout, label.last);
  }
}

Layout laid_out_with_gap(
    const std::vector<const Column*>& columns, const std::vector<Cells>& rows, int gap) {
  Layout layout{columns, std::vector<int>(columns.size(), 1), gap, 0};
  std::vector<int>& widths = layout.widths;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const bool may_reach_left =
        c > 0 && columns[c]->cells == Align::right && columns[c - 1]->cells == Align::left;
    for (const Cells& cells : rows) {
      const int free = may_reach_left ? widths[c - 1] - text::display_width(cells[c - 1]) : 0;
      widths[c] = std::max(widths[c], text::display_width(cells[c]) - free);
    }
  }
  for (const int line : {0, 1}) make_room(layout, line);
  layout.width = begin_of(layout, columns.size()) - gap;
  for (const int line : {0, 1}) {
    for (const Label& label : labels_of(columns, line)) {
      layout.width = std::max(layout.width, end_of(layout, label));
    }
  }
  return layout;
}

}  // namespace

Layout laid_out(
    const std::vector<const Column*>& columns, const std::vector<Cells>& rows, int most) {
  const Layout spacious = laid_out_with_gap(columns, rows, 2);
  return spacious.width <= most ? spacious : laid_out_with_gap(columns, rows, 1);
}

std::string heading_line(const Layout& layout, int line) {
  std::string text;
  for (const Label& label : labels_of(layout.columns, line)) {
    text += text::repeated(" ", begin_of(layout, label) - text::display_width(text));
    text += label.text;
  }
  return text;
}

namespace {

constexpr int kTerm = 12;

struct Entry {
  const char* term;
  std::string words;
};

std::string latency() {
  return text::printed("latency: no unit is busy %d %% of the time", lab::kBusy) +
         ", so warps mostly wait for results, and the ceiling cannot see that";
}

// Which stages' unit is not always busy at the ceiling: the split of A and B comes before.
std::string after_a_split(const lab::Run& run) {
  std::string first, last;
  for (const lab::Row& row : run.rows) {
    const std::optional<model::Ceiling> ceiling = lab::compiled_ceiling(run, row);
    if (!ceiling || ceiling->before_ms == 0) continue;
    last = std::to_string(row.number);
    if (first.empty()) first = last;
  }
  if (first.empty()) return "";
  return " (" + (first == last ? first : first + " to " + last) + ": after the split)";
}

// For each stage with a lower ceiling than the stage before: the reason.
std::string why_lower(const lab::Run& run) {
  std::string text;
  std::optional<model::Ceiling> before;
  for (const lab::Row& row : run.rows) {
    const std::optional<model::Ceiling> now = lab::compiled_ceiling(run, row);
    // The reasons are those of the first variants; other tiles have others.
    if (!now || !row.why_not_run.empty()) continue;
    if (row.variant != &model::first_variant(*row.stage, run.gpu)) return "";
    if (before && tflops_words(now->tflops) != tflops_words(before->tflops) &&
        now->tflops < before->tflops) {
      const auto with_full_sms = [](const model::Ceiling& c) { return c.tflops / c.busy_share; };
      const bool by_tail = now->busy_share < 0.99 * before->busy_share &&
                           with_full_sms(*now) > 0.99 * with_full_sms(*before);
      const char* const why = now->before_ms > before->before_ms ? " reads B twice"
                              : by_tail ? " leaves more SMs without a block at its end"
                              : now->bound_by == model::kTensor
                                  ? " makes three tf32 products for each fp32 product"
                                  : " waits less, which a ceiling does not show";
      text += (text.empty() ? "" : "; ") + std::to_string(row.number) + why;
    }
    before = now;
  }
  return text;
}

// The most urgent first.
std::vector<Entry> entries_of(const lab::Run& run, const std::vector<std::string>& left_out) {
  const auto any_row = [&](const auto& is) {
    return std::any_of(run.rows.begin(), run.rows.end(), is);
  };
  std::vector<Entry> entries;
  if (!left_out.empty()) {
    std::string names;
    for (const std::string& name : left_out) names += (names.empty() ? "" : ", ") + name;
    entries.push_back(
        {"left out",
         names +
             text::printed(": %d columns are too few; --wide prints all", text::report_width())});
  }
  std::string throttled;
  for (const lab::Row& row : run.rows) {
    if (was_throttled(row)) throttled += (throttled.empty() ? "" : ", ") + row.name;
  }
  if (!throttled.empty()) {
    entries.push_back(
        {"throttled", throttled + ": the GPU lowered its clock; --explain says why, and how far"});
  }
  if (any_row([&](const lab::Row& row) { return is_for_small(run, row); })) {
    entries.push_back({"+", "not the stage's first tile: see \"tiles\" above"});
  }
  const std::vector<const Column*> columns = columns_of(run, true);
  if (any_row([&](const lab::Row& row) {
        return std::any_of(columns.begin(), columns.end(), [&](const Column* column) {
          return is_of_a_sample(*column, row);
        });
      })) {
    entries.push_back(
        {"~", "the mean of a few blocks, which differ; --trace all counts all of them"});
  }
  if (any_row([](const lab::Row& row) {
        return row.variant && model::multiplies_bf16(*row.variant);
      })) {
    entries.push_back(
        {"bf16",
         "A and B are rounded to bf16 before the kernel and its clock start; also for cuBLAS "
         "bf16"});
  }
  for (const lab::Row& row : run.rows) {
    if (row.stood_in > 0) entries.push_back({"stand-in", stand_in_words(row.stood_in)});
  }
  if (any_row([](const lab::Row& row) { return row.unfit_data; })) {
    entries.push_back({"n/a", kUnfitData});
  }
  if (any_row([](const lab::Row& row) { return row.error && row.error->forgiven; })) {
    entries.push_back(
        {"tiny",
         "right but for numbers of A or B that are too small for the stage's format, and lost"});
  }
  if (!model::has_clock(run.gpu)) {
    entries.push_back(
        {"no clock", "the " + run.gpu.name + " only counts: it has no times and no ceilings"});
  }
  if (any_row([](const lab::Row& row) { return row.error && row.error->overflowed > 0; })) {
    entries.push_back(
        {"over", "ok, but some results are beyond the range of fp32: infinity or NaN"});
  }
  const bool has_idle_sms = any_row([&](const lab::Row& row) {
    const auto ceiling = lab::compiled_ceiling(run, row);
    return ceiling && ceiling->busy_share < 0.5;
  });
  if (has_idle_sms) {
    entries.push_back(
        {"few blocks", "most SMs are idle most of the time; a larger --size fills the GPU"});
  }
  if (any_row([&](const lab::Row& row) { return lab::bound_by(run, row).has_value(); })) {
    entries.push_back(
        {"bound by", "the busiest unit and the % of the time that it is busy. " + latency()});
  }
  if (any_row([&](const lab::Row& row) { return !row.time && lab::compiled_ceiling(run, row); })) {
    entries.push_back(
        {"ceiling",
         "the most that this GPU can reach: its unit is always busy" + after_a_split(run)});
  }
  if (const std::string why = why_lower(run); !run.gpu_present && !has_idle_sms && !why.empty()) {
    entries.push_back({"lower", "stage " + why});
  }
  if (!run.gpu_present && is_recorded(run)) {
    entries.push_back({"recorded", "the speed on this GPU at this size, as recorded in results/"});
  }
  entries.push_back(
      {"loads", std::string("as written: a float4 or cp.async is one") +
                    (any_row(has_boxes) ? ", " + std::string(kBox) + " a box" : "") +
                    ". GMEM, SMEM: global, shared memory"});
  entries.push_back(
      {"per request", text::printed(
                          "of a warp: %d-byte sectors of a GMEM load; bank conflicts in SMEM",
                          run.gpu.warp.sector_bytes)});
  if (any_row([](const lab::Row& row) { return row.time && row.time->partial; })) {
    entries.push_back({"~ of a time", "scaled up from the first rows of C"});
  }
  if (!run.program.empty()) {
    entries.push_back(
        {"launches",
         std::string("of the program; what the first one of each kernel did is counted") +
             (run.gpu_present ? "; the time is the median of all on the GPU, each between two "
                                "events, so it includes the overhead of a launch"
                              : "")});
    return entries;
  }
  entries.push_back(
      {"ok", "no result is farther from the fp64 reference than rounding can explain"});
  return entries;
}

}  // namespace

std::string short_legend(const lab::Run& run, const std::vector<std::string>& left_out) {
  constexpr int kMostLines = 6;
  const std::string more = text::labelled(
      "", 0, "--legend explains every column, --wide prints more, --explain has the reasons.");
  const auto lines = [](const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  };
  std::string text;
  for (const Entry& entry : entries_of(run, left_out)) {
    const std::string next = text::labelled(entry.term, kTerm, entry.words);
    if (lines(text) + lines(next) + lines(more) <= kMostLines) text += next;
  }
  return text + more;
}

void print_legend(std::FILE* out) {
  const Entry entries[] = {
      {"#, stage",
       "the stage's number and name. Rows without a number are yardsticks: the CPU and cuBLAS"},
      {"+",
       "after a stage's name: its tile is not the stage's first, because C is small; the line "
       "\"tiles\" above the table names it"},
      {"variant",
       "the tile sizes that ran: those that suit the GPU and the size, unless --variant names "
       "others (--wide)"},
      {"time",
       "the median of many launches in ms, each between two events, after unmeasured ones; "
       "--explain gives the spread. ~: scaled up from the first rows of C, because all of C would "
       "take too long"},
      {"TFLOP/s", "1e12 operations per second, 2*M*N*K of them in all"},
      {"bf16",
       "a variant that multiplies bf16 gets copies of A and B that are rounded before its clock "
       "starts, and so does cuBLAS bf16, which the table shows beside it on a GPU"},
      {"fp16 parts",
       "a variant that multiplies them makes them anew in each run, and that is in its time. Its "
       "counts are those of the kernel that multiplies them. Where a stage needs a proof that "
       "they lose little and there is none, the GPU multiplies tf32 parts instead, and a line "
       "below "
       "the table says so"},
      {"% of cuBLAS", "speed over that of cuBLAS fp32 in the same run"},
      {"times the", "stage before: its speed divided by that of the stage before (--wide)"},
      {"ceiling",
       "the TFLOP/s at which one unit of this GPU, the one named, would be busy all the "
       "time with the compiled kernel, at this size; --explain shows every unit. Where A and B are "
       "split before, the split takes its time at DRAM's bandwidth, and the unit is busy after it. "
       "≤: not timed, so this is the most that the GPU can reach. took: a time on this CPU"},
      {"recorded",
       "without this GPU: the speed that somebody recorded on one, at this size (results/)"},
      {"bound by",
       "the busiest unit, and the % of the kernel's time that it is busy, without a split before. "
       "Above 100: the clock that was counted is lower than that of the timed launches. " +
           latency() + ": it counts work and no waiting"},
      {"units",
       "FMA: multiply-adds. issue: instructions. SMEM: wavefronts of shared memory. L1: "
       "128-byte lines. L2, DRAM: bytes. tensor: products of the tensor cores"},
      {"few blocks",
       "most SMs have nothing to do for most of the time; a stage with larger blocks "
       "has fewer of them. A larger --size fills the GPU"},
      {"loads/thread",
       "accesses as written, of the thread with the most: one float4 is one, one "
       "cp.async is one. GMEM: global memory. SMEM: shared memory. " +
           std::string(kBox) + ": boxes of the copy engine, of kilobytes each, among them"},
      {"loads/result", "the same, divided by the results of C that a thread computes (--wide)"},
      {"bytes/result",
       "that a block loads from GMEM, divided by the results of C that it computes (--wide)"},
      {"sectors",
       "of 32 bytes (16 on the paper GPU) that a request, one instruction of a warp, loads from "
       "GMEM"},
      {"ideal",
       "the fewest sectors that can hold the bytes that the request wants: 4 for 32 floats, "
       "16 for 32 float4, 1 where all lanes want the same float (--wide)"},
      {"conflicts",
       "bank conflicts: wavefronts of SMEM that a request takes beyond the fewest, "
       "loads and stores together"},
      {"products",
       "multiply-adds that an instruction of the tensor cores makes for a warp; an FFMA makes 32, "
       "one for each lane (--wide)"},
      {"sampled",
       "sectors and conflicts are of the traced blocks (corners, edges, middle), with a ~ if these "
       "differ; --trace all traces every block"},
      {"registers", "per thread, as the compiler allocates them (--wide)"},
      {"blocks", "that an SM holds at a time (--wide)"},
      {"occupancy",
       "warps that an SM holds, in % of those that it could hold; --explain says where some of "
       "them return at once"},
      {"error",
       "|C - other| / |other| (Frobenius): against an fp64 product on the CPU, and against "
       "cuBLAS fp32"},
      {"ok",
       "no element is farther from the fp64 reference than rounding can explain; FAIL: one "
       "is. over: ok, but some elements of C, or sums on the way to them, are beyond the "
       "range of fp32: they overflow to infinity or NaN, as in every BLAS. tiny: ok, but for "
       "numbers that are too small for the stage's format. n/a: not checked, as the stage needs "
       "finite data"},
      {"colour",
       "in each row the count that differs most from the stage before, by its ratio: "
       "emphasis, and no more than the numbers say"},
      {"–", "not measured, or there is no such access"}};
  std::string text = "What the columns of the table mean:\n\n";
  for (const Entry& entry : entries) text += text::labelled(entry.term, kTerm + 1, entry.words);
  std::fputs(text.c_str(), out);
}

namespace {

constexpr std::size_t kName = 1;  // the column, also in print_list

std::vector<Cells> cells_of(const lab::Run& run, const std::vector<const Column*>& columns) {
  std::vector<Cells> rows;
  for (const lab::Row& row : run.rows) {
    Cells& cells = rows.emplace_back();
    for (const Column* column : columns) cells.push_back(cell_of(*column, run, row));
  }
  return rows;
}

// The first column to leave out; the end if all others stay.
auto first_to_go(std::vector<const Column*>& columns) {
  auto found = columns.end();
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if ((*column)->goes == 0) continue;
    if (found == columns.end() || (*column)->goes < (*found)->goes) found = column;
  }
  return found;
}

std::string row_line(
    const Layout& layout, const lab::Run& run, const lab::Row& row, const Cells& cells,
    text::Style style) {
  const Column* changed = style.colour ? most_changed(layout.columns, run, row) : nullptr;
  return cells_line(layout, cells, [&](std::size_t c, const std::string& cell) {
    const bool is_verdict = c + 1 == cells.size();
    if (is_verdict && row.error) {
      const bool passed = row.error->bound_ok;
      return text::coloured(cell, passed ? text::Colour::green : text::Colour::red, style);
    }
    return layout.columns[c] == changed ? text::coloured(cell, text::Colour::yellow, style) : cell;
  });
}

}  // namespace

void print_table(std::FILE* out, const lab::Run& run, text::Style style, bool wide) {
  const int most = wide ? std::numeric_limits<int>::max() : text::report_width();
  std::vector<const Column*> columns = columns_of(run, wide);
  std::vector<Cells> rows = cells_of(run, columns);
  Layout layout = laid_out(columns, rows, most);
  std::vector<std::string> left_out;
  while (layout.width > most) {
    const auto gone = first_to_go(columns);
    if (gone == columns.end()) break;
    left_out.push_back((*gone)->name);
    columns.erase(gone);
    rows = cells_of(run, columns);
    layout = laid_out(columns, rows, most);
  }
  if (layout.width > most) {
    const int name = std::max(1, layout.widths[kName] - (layout.width - most));
    for (Cells& cells : rows) cells[kName] = text::shortened(cells[kName], name);
    layout = laid_out(columns, rows, most);
  }

  if (!run.program.empty() && rows.empty()) {
    std::fputs((about(run) + "It has launched no kernel.\n").c_str(), out);
    return;
  }
  std::string text = about(run) + "\n";
  for (const int line : {0, 1}) {
    text += text::coloured(heading_line(layout, line), text::Colour::bold, style) + "\n";
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += row_line(layout, run, run.rows[i], rows[i], style) + "\n";
  }
  std::fputs((text + "\n" + short_legend(run, left_out)).c_str(), out);
}

namespace {

constexpr const char* kSerial = "serial";  // stage 0 is not a kernel, and is in no stage table

bool is_chosen(const model::Stage& stage, const model::Variant& v, const ChoiceFor& choice) {
  return &v == &model::suited_variant(stage, choice.gpu, choice.M, choice.N, choice.K);
}

// "default" is the stage's first variant, for large products, and "chosen" the one that runs.
std::vector<Fact> facts_of(const model::Stage& stage, const model::Variant& v, bool chosen) {
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

std::vector<std::vector<Fact>> all_facts(
    std::span<const model::Stage> stages, const ChoiceFor& choice) {
  std::vector<std::vector<Fact>> all;
  for (const model::Stage& stage : stages) {
    for (const model::Variant& variant : stage.variants) {
      all.push_back(facts_of(stage, variant, is_chosen(stage, variant, choice)));
    }
  }
  return all;
}

// "8x8", or nothing if a stage has no such tile.
std::string tile(int rows, int columns) {
  if (rows < 1 && columns < 1) return "–";
  return text::printed("%dx%d", std::max(rows, 1), std::max(columns, 1));
}

std::string count(int value) {
  return value > 0 ? std::to_string(value) : "–";
}

using ListCells = std::array<std::string, 11>;
constexpr std::size_t kVariant = 2;  // the column, after kName

std::array<int, 11> widths_of(const std::vector<ListCells>& lines) {
  std::array<int, 11> widths{};
  for (const ListCells& cells : lines) {
    for (std::size_t column = 0; column < cells.size(); ++column) {
      widths[column] = std::max(widths[column], text::display_width(cells[column]));
    }
  }
  return widths;
}

// On a narrow terminal, a stage's name has a line of its own, above its variants.
std::string laid_out(const std::vector<ListCells>& lines) {
  const std::array<int, 11> widths = widths_of(lines);
  int all = static_cast<int>(widths.size()) - 1;
  for (const int width : widths) all += width;
  const bool narrow = all > text::report_width();
  std::string text;
  for (const ListCells& cells : lines) {
    std::string line = text::pad_left(cells[0], widths[0]);
    if (narrow && !cells[kName].empty()) {
      text += line + " " + cells[kName] + "\n";
      if (cells[kName] == kSerial) continue;  // it has no variants
      line = text::repeated(" ", widths[0]);
    } else if (!narrow) {
      line += " " + text::pad_right(cells[kName], widths[kName]);
    }
    line += " " + text::pad_right(cells[kVariant], widths[kVariant]);
    for (std::size_t column = kVariant + 1; column < cells.size(); ++column) {
      line += " " + text::pad_left(cells[column], widths[column]);
    }
    text += text::without_trailing_spaces(line) + "\n";
  }
  return text;
}

std::string gpu_names() {
  std::string names;
  for (const model::Gpu& gpu : model::known_gpus()) names += (names.empty() ? "" : ", ") + gpu.name;
  return names;
}

// How the variants of a stage with several are marked.
std::string mark(const model::Stage& stage, const model::Variant& v, const ChoiceFor& choice) {
  if (stage.variants.size() == 1) return "";
  if (is_chosen(stage, v, choice)) return " *";
  const bool may_run = v.for_small || v.for_few_results || &v == stage.variants.data();
  return may_run ? " +" : "";
}

// The stages that need memory besides A, B and C.
std::string memory_for_sums(
    std::span<const model::Stage> stages, const ChoiceFor& choice, int term) {
  std::string numbers;
  std::int64_t most = 0;  // floats
  for (const model::Stage& stage : stages) {
    bool cuts = false;
    for (const model::Variant& v : stage.variants) {
      if (v.share_out == nullptr || v.contrast != nullptr) continue;
      cuts = true;
      most = std::max(most, std::int64_t{2} * v.BM * v.BN * choice.gpu.sms);
    }
    if (cuts) numbers += (numbers.empty() ? "" : ", ") + std::to_string(stage.number);
  }
  if (most == 0) return "";
  return text::labelled(
      "memory", term,
      "stages " + numbers +
          " can keep sums of parts of tiles in GPU memory, at most two tiles per SM: " +
          text::significant(4e-6 * static_cast<double>(most)) + " MB on the " + choice.gpu.name +
          ", allocated once");
}

std::string as_table(std::span<const model::Stage> stages, const ChoiceFor& choice) {
  const std::string none = "–";
  std::vector<ListCells> lines = {
      {"", "", "", "block", "", "warp", "thread", "", "threads", "dynamic", "needs"},
      {"#", "stage", "variant", "BMxBN", "BK", "WMxWN", "TMxTN", "tiles", "per block", "SMEM B",
       "sm_"},
      {"0", kSerial, "", none, none, none, none, none, none, none, none}};
  for (const model::Stage& stage : stages) {
    for (const model::Variant& v : stage.variants) {
      const bool first = &v == stage.variants.data();
      lines.push_back(
          {first ? std::to_string(stage.number) : "", first ? stage.name : "",
           std::string(v.name) + mark(stage, v, choice), tile(v.BM, v.BN), count(v.BK),
           tile(v.WM, v.WN), tile(v.TM, v.TN), count(v.pipeline), text::grouped(v.threads()),
           v.shared_bytes > 0 ? text::grouped(v.shared_bytes) : none,
           stage.needs.hardware > 0
               ? std::to_string(stage.needs.hardware) + (stage.needs.only_there ? "a" : "")
               : "any"});
    }
  }
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
         memory_for_sums(stages, choice, kSign) +
         text::labelled("GPUs", kSign, "for --gpu: " + gpu_names());
}

}  // namespace

void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice, Format format) {
  std::string text;
  if (format == Format::table) {
    text = as_table(stages, choice);
  } else if (format == Format::json) {
    text = "{\n" + json_array("variants", all_facts(stages, choice)) + "\n}\n";
  } else {
    text = csv_names(facts_of(model::Stage{}, model::Variant{}, false));
    for (const std::vector<Fact>& facts : all_facts(stages, choice)) text += csv_values(facts);
  }
  std::fputs(text.c_str(), out);
}

}  // namespace report
