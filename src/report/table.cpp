#include "report/table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "report/about.h"
#include "report/columns.h"
#include "report/layout.h"
#include "report/legend.h"
#include "text/numbers.h"

namespace report {

namespace {

constexpr std::size_t kName = 1;  // the column

std::vector<Cells> cells_of(const lab::Run& run, const std::vector<const Column*>& columns) {
  std::vector<Cells> rows;
  for (const lab::Row& row : run.rows) {
    Cells& cells = rows.emplace_back();
    for (const Column* column : columns) cells.push_back(cell_of(*column, run, row));
  }
  return rows;
}

// The first to go; the end where all the others stay.
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

}  // namespace report
