#include "text/printable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

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

}  // namespace

Sign first_sign(std::string_view rest) {
  const std::size_t length = utf8_length(rest);
  const std::string_view sequence = rest.substr(0, std::max<std::size_t>(length, 1));
  if (length > 0 && is_visible(code_point(sequence))) return {std::string(sequence), length};
  if (sequence == "\n") return {"\\n", 1};
  if (sequence == "\t") return {"\\t", 1};
  if (sequence == "\r") return {"\\r", 1};
  return {printed("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(rest[0]))), 1};
}

std::string printable(std::string_view text, bool with_lines) {
  std::string shown;
  while (!text.empty()) {
    const Sign sign = first_sign(text);
    shown += with_lines && text[0] == '\n' ? "\n" : sign.shown;
    text.remove_prefix(sign.bytes);
  }
  return shown;
}

}  // namespace text
