// Matches of patterns, in std::regex's language. Only pattern.cpp includes <regex>, which takes
// seconds to compile, and it is optimized, because the tests' own files would run it slowly.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace testing {

// Where a pattern matches, if it does.
struct Match {
  std::vector<std::string> groups;  // first the whole match; of a group that has none, ""
  std::size_t position = 0;

  explicit operator bool() const { return !groups.empty(); }
  const std::string& operator[](std::size_t group) const { return groups.at(group); }
};

Match first_match(const std::string& text, const std::string& pattern);
Match whole_match(const std::string& text, const std::string& pattern);  // all of the text
std::vector<Match> all_matches(const std::string& text, const std::string& pattern);

// The text with every match replaced; `with` may name groups: $1.
std::string replaced(const std::string& text, const std::string& pattern, const std::string& with);

}  // namespace testing
