// A run as a table for readers: its columns, their layout and the legend; and the list of stages.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/report/facts.h"
#include "text/numbers.h"

namespace report {

// The columns of the table: their headings, and the text of a row in each.
struct Column {
  enum class In {
    every_table,
    timed,           // a table with times
    wide,            // --wide
    product,         // of kernels that compute C
    stages,          // of the ladder
    kernels,         // of a user's file
    timed_product,   // with times
    timed_and_wide,  // --wide, with times
    traced_product,  // without times
    recorded,        // without times, which were recorded on the run's GPU at this size
    program          // of a whole program's kernels
  };
  enum class Align { left, right };
  // The two lines of the heading. Neighbours with the same words share a label.
  const char* top;
  const char* bottom;
  In in = In::every_table;
  Align cells = Align::right;
  Align label = Align::right;
  int goes = 0;             // the order in which columns leave a line that is too long; 0: it stays
  const char* name = "";    // the name in the sentence about omitted columns
  bool is_a_count = false;  // and is compared with the stage before
  std::optional<double> (*number)(const lab::Run&, const lab::Row&) = nullptr;
  std::string (*words)(double) = nullptr;                           // for the number
  std::string (*cell)(const lab::Run&, const lab::Row&) = nullptr;  // if there is no text
  // If the number is a mean of the blocks: of all, and of each.
  model::OfBlocks model::Counts::*of_blocks = nullptr;
};

// Before a thread's loads, if some of them are boxes of the copy engine.
inline constexpr const char* kBox = "□";
inline bool has_boxes(const lab::Row& row) {
  return row.counts && row.counts->box_requests > 0;
}

// The columns of a table of this run, in order.
std::vector<const Column*> columns_of(const lab::Run& run, bool wide);

// Whether the number is that of a sample of blocks that differ from one another.
bool is_of_a_sample(const Column& column, const lab::Row& row);

// The text in the column; "–" if the row has none.
std::string cell_of(const Column& column, const lab::Run& run, const lab::Row& row);

// The count in which the row differs most from the stage before, by its ratio; null if the run does
// not have the stage before, or no count differs.
const Column* most_changed(
    const std::vector<const Column*>& columns, const lab::Run& run, const lab::Row& row);

// The layout of a table: the places and widths of its columns and headings.
struct Layout {
  std::vector<const Column*> columns;
  std::vector<int> widths;
  int gap;    // between columns; always one between a stage's number and name
  int width;  // of the longest line, headings included
};

// The blanks after a column.
inline int gap_after(const Layout& layout, std::size_t column) {
  return column == 0 ? 1 : layout.gap;
}

using Cells = std::vector<std::string>;  // one for each column

// Columns are as wide as their cells, two blanks apart if everything fits into `most`, else one. A
// heading may be wider than its column. It then extends over its neighbour, unless the neighbour
// has a label in the same line. A right-aligned cell may extend into the free space of a name
// before it.
Layout laid_out(
    const std::vector<const Column*>& columns, const std::vector<Cells>& rows, int most);

std::string heading_line(const Layout& layout, int line);  // 0 or 1

// `coloured` adds colours to a cell's text, by its number.
template <class Coloured>
std::string cells_line(const Layout& layout, const Cells& cells, Coloured coloured) {
  std::string line;
  int filled = 0, begin = 0;  // columns on the screen
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const int width = text::display_width(cells[c]);
    const int at =
        layout.columns[c]->cells == Column::Align::left ? begin : begin + layout.widths[c] - width;
    line += text::repeated(" ", at - filled) + coloured(c, cells[c]);
    filled = at + width;
    begin += layout.widths[c] + gap_after(layout, c);
  }
  return text::without_trailing_spaces(line);
}

// At most six lines below the table: what a reader of this run's table has to know. `left_out`
// names the columns that the terminal is too narrow for.
std::string short_legend(const lab::Run& run, const std::vector<std::string>& left_out);

// --legend: all columns and signs, those of --wide included.
void print_legend(std::FILE* out);

// One line per row, with a header and a short legend, as wide as the report. If the columns need
// more, the least important ones are left out, and the legend names them. `wide`: all columns, and
// further ones, however wide that is. Colour marks what changed most since the stage before.
void print_table(std::FILE* out, const lab::Run& run, text::Style style, bool wide = false);

// The product for which variants are chosen: C (M x N) on this GPU.
struct ChoiceFor {
  model::Gpu gpu;
  int M, N, K;
};

// Every stage with its variants: which of them can be chosen by size, and which one is.
void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice, Format format);

}  // namespace report
