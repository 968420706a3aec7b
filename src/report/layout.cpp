#include "report/layout.h"

#include <algorithm>

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

// What stands in a line of the heading. Columns that share a label are headed from the left. A
// label stands on the left of a column of numbers only to reach over a neighbour that has none.
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

// Widens columns until the labels of a line stand apart.
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

}  // namespace report
