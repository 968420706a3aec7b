#include "grade/lines.h"

#include <algorithm>

#include "model/refusal.h"

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
  throw model::Refusal(name + ":" + std::to_string(line + 1) + ": " + what);
}

}  // namespace grade
