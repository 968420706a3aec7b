// Captures printed output, and helps tests to search it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "text/numbers.h"

namespace testing {

// The output of `print`, even if it throws.
inline std::string written(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  const auto close = [&] {
    std::fclose(out);
    const std::string copy(text, size);
    std::free(text);
    return copy;
  };
  try {
    print(out);
  } catch (...) {
    close();
    throw;
  }
  return close();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first line that contains `words`; empty if there is none.
inline std::string line_with(const std::string& text, const std::string& words) {
  for (const std::string& line : lines_of(text)) {
    if (line.find(words) != std::string::npos) return line;
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

inline int widest(const std::string& text) {
  int width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, text::display_width(line));
  return width;
}

}  // namespace testing
