#include "rewrite/place.h"

#include <cctype>
#include <charconv>

namespace rewrite {

std::string place_of(std::string_view source, const Token& token) {
  std::string_view file;
  long line = 1;
  for (std::size_t begin = 0; begin <= token.at && begin < source.size();) {
    const std::size_t end = source.find('\n', begin);
    if (end == source.npos || end >= token.at) break;
    const std::string_view text = source.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t quote = text.find('"');
    const bool is_marker = text.size() > 2 && text.starts_with("# ") &&
                           std::isdigit(static_cast<unsigned char>(text[2])) != 0 &&
                           quote != text.npos;
    if (!is_marker) {
      ++line;
      continue;
    }
    std::from_chars(text.data() + 2, text.data() + text.size(), line);
    file = text.substr(quote + 1, text.rfind('"') - quote - 1);
  }
  const std::string number = std::to_string(line);
  return file.empty() ? "line " + number : std::string(file) + ":" + number;
}

}  // namespace rewrite
