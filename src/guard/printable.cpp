#include "guard/printable.h"

#include <cstddef>
#include <string_view>

namespace guard {
namespace {

// The bytes of the character that `text` begins with; 0 where it is none to be shown.
std::size_t bytes_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= ' ' && byte(0) != 0x7f;
  const std::size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return 0;
  unsigned code = byte(0) & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const bool too_long = code < (bytes == 4 ? 0x10000u : bytes == 3 ? 0x800u : 0x80u);
  const bool control = code < 0xa0 || code == 0x2028 || code == 0x2029;
  // These change the direction in which all that follows is shown.
  const bool turns = (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
                     (code >= 0x2066 && code <= 0x2069);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return too_long || control || turns || surrogate || code > 0x10ffff ? 0 : bytes;
}

}  // namespace

std::string printable(const std::string& text, bool with_lines) {
  std::string shown;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes =
        with_lines && text[i] == '\n' ? 1 : bytes_of_character(std::string_view(text).substr(i));
    shown += bytes == 0 ? "?" : text.substr(i, bytes);
    i += bytes == 0 ? 1 : bytes;
  }
  return shown;
}

}  // namespace guard
