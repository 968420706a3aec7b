// A table as text: the cells of its lines, in columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace text {

using Cells = std::vector<std::string>;  // of a line

// The widths of the columns, each that of its widest cell. Those of the first `left` columns, which
// are left-aligned, are negative.
std::vector<int> widths_of(const std::vector<Cells>& lines, std::size_t left = 1);

// A line of cells in columns of these widths, with `gap` blanks between them and none at the end.
std::string in_columns(const Cells& cells, const std::vector<int>& widths, int gap = 1);

}  // namespace text
