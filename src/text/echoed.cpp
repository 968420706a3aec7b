#include "text/echoed.h"

#include <algorithm>
#include <cstdint>
#include <deque>

#include "text/numbers.h"
#include "text/utf8.h"

namespace text {

namespace {

// The code point of one well-formed sequence.
std::uint32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1) return static_cast<unsigned char>(sequence[0]);
  std::uint32_t point = static_cast<unsigned char>(sequence[0]) & (0x7Fu >> sequence.size());
  for (const char byte : sequence.substr(1)) point = point << 6 | (byte & 0x3F);
  return point;
}

// Whether it has a shape of its own. Others move the cursor, turn the direction of writing, or
// hide: control characters and Unicode's formats (category Cf).
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

// The first character of `rest` as it is shown, and how many bytes it takes: the next one only of
// what has no shape.
struct Sign {
  std::string shown;
  std::size_t bytes;
};

Sign first_sign(std::string_view rest) {
  const std::size_t length = utf8_length(rest);
  const std::string_view sequence = rest.substr(0, std::max<std::size_t>(length, 1));
  if (length > 0 && is_visible(code_point(sequence))) return {std::string(sequence), length};
  if (sequence == "\n") return {"\\n", 1};
  if (sequence == "\t") return {"\\t", 1};
  if (sequence == "\r") return {"\\r", 1};
  return {printed("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(rest[0]))), 1};
}

}  // namespace

std::string echoed(std::string_view typed, int most) {
  std::deque<std::string> signs;
  for (std::string_view rest = typed; !rest.empty();) {
    const Sign sign = first_sign(rest);
    signs.push_back(sign.shown);
    rest.remove_prefix(sign.bytes);
  }
  const auto joined = [](auto begin, auto end) {
    std::string text;
    for (; begin != end; ++begin) text += *begin;
    return text;
  };
  const std::string whole = joined(signs.begin(), signs.end());
  if (display_width(whole) <= most) return whole;
  // More of the beginning than of the end: but the end tells files apart.
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
    while (!line.empty()) {
      const Sign sign = first_sign(line);
      shown += line[0] == '\t' ? "    " : sign.shown;
      line.remove_prefix(sign.bytes);
    }
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return lines;
}

}  // namespace text
