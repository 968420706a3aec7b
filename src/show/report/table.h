// A run as a table for readers: its columns, their layout and the legend; and the list of stages.
#pragma once

#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"
#include "show/report/quantities.h"
#include "text/columns.h"
#include "text/numbers.h"

namespace report {

// The layout of a table: the places and widths of its columns and headings.
struct Layout {
  std::vector<const Quantity*> columns;
  std::vector<int> widths;
  int gap;    // between columns; always one between a stage's number and name
  int width;  // of the longest line, headings included
};

// The blanks after a column.
inline int gap_after(const Layout& layout, std::size_t column) {
  return column == 0 ? 1 : layout.gap;
}

using text::Cells;

// Columns are as wide as their cells, two blanks apart if everything fits into `most`, else one. A
// heading may be wider than its column. It then extends over its neighbour, unless the neighbour
// has a label in the same line. A right-aligned cell may extend into the free space of a name
// before it.
Layout laid_out(
    const std::vector<const Quantity*>& columns, const std::vector<Cells>& rows, int most);

std::string heading_line(const Layout& layout, int line);  // 0 or 1

// `coloured` adds colours to a cell's text, by its number.
template <class Coloured>
std::string cells_line(const Layout& layout, const Cells& cells, Coloured coloured) {
  std::string line;
  int filled = 0, begin = 0;  // columns on the screen
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const int width = text::display_width(cells[c]);
    const int at = layout.columns[c]->column.align == Column::Align::left
                       ? begin
                       : begin + layout.widths[c] - width;
    line += text::repeated(" ", at - filled) + coloured(c, cells[c]);
    filled = at + width;
    begin += layout.widths[c] + gap_after(layout, c);
  }
  return text::without_trailing_spaces(line);
}

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
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice,
    flags::Format format);

}  // namespace report
