#include "grade/lines.h"

#include <algorithm>

#include "model/refusal.h"
#include "text/echoed.h"

namespace grade {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  for (std::size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
       begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

void refuse(const std::string& name, std::size_t line, const std::string& what) {
  constexpr int kMostSaid = 300;  // columns; names in a student's file have any length
  throw model::Refusal(
      text::echoed(name) + ":" + std::to_string(line + 1) + ": " + text::echoed(what, kMostSaid));
}

}  // namespace grade
