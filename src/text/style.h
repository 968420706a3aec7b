// How the report looks on a terminal. Colour only repeats what words or signs already say.
#pragma once

#include <string>

namespace text {

struct Style {
  bool colour = false;
};

enum class Colour {
  bold = 1,
  red = 31,
  green = 32,
  yellow = 33
};  // ECMA-48, select graphic rendition

inline std::string coloured(const std::string& text, Colour colour, Style style) {
  if (!style.colour || text.empty()) return text;
  return "\033[" + std::to_string(static_cast<int>(colour)) + "m" + text + "\033[0m";
}

}  // namespace text
