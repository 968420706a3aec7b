// A student's file as lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace grade {

// Counted from 0; `end` is the line after the last.
struct Range {
  std::size_t first, end;
};

// Without their ends, also those of Windows.
std::vector<std::string> lines_of(const std::string& text);

// Without the spaces and tabs around it.
std::string trimmed(std::string_view text);

// Throws a Refusal that says which line of the file `name` it is about.
[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& what);

}  // namespace grade
