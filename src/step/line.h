// A line of a frame: parts with their colours, cut to the width of the screen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/numbers.h"

namespace step {

struct StepStyle {
  bool colour = false;
  bool ascii = false;
};

// A part of a line, in one colour.
struct Span {
  std::string text;
  std::optional<text::Colour> colour{};
};
using Line = std::vector<Span>;

Span bold(const std::string& text);

// At most `columns` columns, without control characters.
std::string shown(const Line& line, int columns, StepStyle style);

void append(std::vector<Line>& to, const std::vector<Line>& more);

}  // namespace step
