#include "step/line.h"

#include <algorithm>

#include "text/numbers.h"

namespace step {

namespace {

// Replaces tabs and characters that would move a terminal's cursor.
std::string printable(const std::string& text, bool ascii) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\t') {
      plain.append(8 - text::display_width(plain) % 8, ' ');
    } else if (c < ' ' || c == 127) {
      plain += c == '\r' ? "" : "?";
    } else if (c < 0x80 || !ascii) {
      plain += text[i];
    } else if (c >= 0xc0) {
      plain += '?';  // and nothing for continuation bytes
    }
  }
  return plain;
}

}  // namespace

std::string shown(const Line& line, int columns, StepStyle style) {
  std::string text;
  int left = columns;
  for (const Span& span : line) {
    if (left <= 0) break;
    const std::string safe = printable(span.text, style.ascii);
    std::string part;
    int width = 0;
    for (const char c : safe) {
      const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;
      if (!continues && width++ == left) break;
      part += c;
    }
    left -= std::min(width, left);
    text += span.colour ? text::coloured(part, *span.colour, {style.colour}) : part;
  }
  // A colour sequence ends with a letter, so only plain blanks are removed.
  return text::without_trailing_spaces(text);
}

Span bold(const std::string& text) {
  return {text, text::Colour::bold};
}

void append(std::vector<Line>& to, const std::vector<Line>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace step
