// Where the columns of a table stand, how wide they are, and where their headings go.
#pragma once

#include <string>
#include <vector>

#include "report/columns.h"
#include "text/numbers.h"

namespace report {

struct Layout {
  std::vector<const Column*> columns;
  std::vector<int> widths;
  int gap;    // between columns; a stage's number and its name are always one apart
  int width;  // of the longest line, headings included
};

// Blanks behind a column.
inline int gap_after(const Layout& layout, std::size_t column) {
  return column == 0 ? 1 : layout.gap;
}

using Cells = std::vector<std::string>;  // one for each column

// Columns as wide as their cells, two blanks apart where all then fits into `most`, else one. A
// heading may be wider than its column and then reaches over its neighbour's, unless the neighbour
// has one in the same line. A cell on the right of its column may reach into what the name or the
// like before it leaves free.
Layout laid_out(
    const std::vector<const Column*>& columns, const std::vector<Cells>& rows, int most);

std::string heading_line(const Layout& layout, int line);  // 0 or 1

// `coloured` says what becomes of a cell's text on a terminal, by its number.
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

}  // namespace report
