#include "report/explain/words.h"

#include "text/numbers.h"

namespace report {

std::string heading(const std::string& text, text::Style style) {
  return text::printed("\n%s\n", text::coloured(text, text::Colour::bold, style).c_str());
}

std::string fact(std::string_view label, std::string_view words) {
  return text::labelled(text::repeated(" ", kIndent) + std::string(label), kIndent + kLabel, words);
}

std::string verdict(std::string_view words) {
  return text::labelled("", 2 * kIndent, words);
}

std::string paragraph(std::string_view words) {
  return text::labelled("", 0, words);
}

}  // namespace report
