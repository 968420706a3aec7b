#include "text/echoed.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "text/numbers.h"

namespace text {

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80                    ? 1
                             : first >= 0xC2 && first < 0xE0 ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length > text.size()) return 0;
  for (std::size_t at = 1; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool too_large = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

namespace {

// The code point of one well-formed sequence.
std::uint32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]);
  std::uint32_t point = static_cast<unsigned char>(sequence[0]) & (0x7Fu >> sequence.size());
  for (const char byte : sequence.substr(1)) point = point << 6 | (byte & 0x3F);
  return point;
}

// Whether the character is visible. Invisible ones move the cursor, change the direction of
// writing, or hide: control characters and Unicode's format characters (category Cf).
bool is_visible(std::uint32_t point) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kInvisible[] = {
      {0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x600, 0x605},   {0x61C, 0x61C},
      {0x6DD, 0x6DD},   {0x70F, 0x70F},   {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},
      {0x2060, 0x206F}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xE0000, 0x10FFFF}};
  return std::none_of(std::begin(kInvisible), std::end(kInvisible), [&](const Range& range) {
    return range.first <= point && point <= range.last;
  });
}

// Calls `each` with the first byte of every character, and with its printable form. A character
// that is not visible is shown byte by byte.
template <class Each>
void for_each_character(std::string_view text, Each each) {
  constexpr std::string_view kSpaces = "\n\t\r", kLetters = "ntr";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view whole = text.substr(0, length);
    const bool visible = length > 0 && is_visible(code_point(whole));
    const std::size_t space = kSpaces.find(text[0]);
    const unsigned byte = static_cast<unsigned char>(text[0]);
    each(
        text[0], visible                 ? std::string(whole)
                 : space != kSpaces.npos ? std::string("\\") + kLetters[space]
                                         : printed("\\x%02x", byte));
    text.remove_prefix(visible ? length : 1);
  }
}

}  // namespace

std::string printable(std::string_view text, bool with_lines) {
  std::string shown;
  for_each_character(text, [&](char first, const std::string& character) {
    shown += with_lines && first == '\n' ? "\n" : character;
  });
  return shown;
}

std::string echoed(std::string_view typed, int most) {
  std::vector<std::string> signs;
  for_each_character(typed, [&](char, const std::string& shown) { signs.push_back(shown); });
  const auto joined = [](auto begin, auto end) {
    std::string text;
    for (; begin != end; ++begin) text += *begin;
    return text;
  };
  const std::string whole = joined(signs.begin(), signs.end());
  if (display_width(whole) <= most) return whole;
  // Keeps more of the beginning than of the end, but some of the end, because the ends of paths
  // tell files apart.
  const int of_end = most / 3, of_beginning = most - 1 - of_end;
  auto first_left_out = signs.begin();
  for (int width = 0; (width += display_width(*first_left_out)) <= of_beginning;) ++first_left_out;
  auto end_begins = signs.end();
  for (int width = 0; (width += display_width(end_begins[-1])) <= of_end;) --end_begins;
  return joined(signs.begin(), first_left_out) + "…" + joined(end_begins, signs.end());
}

std::vector<std::string> shown_lines(std::string_view source) {
  std::vector<std::string> lines;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    std::string_view line = source.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string& shown = lines.emplace_back();
    for_each_character(line, [&](char first, const std::string& character) {
      shown += first == '\t' ? "    " : character;
    });
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return lines;
}

}  // namespace text
