#include "testing/pattern.h"

#include <map>
#include <regex>

namespace testing {

namespace {

const std::regex& compiled(const std::string& pattern) {
  static std::map<std::string, std::regex> all;
  const auto known = all.find(pattern);
  return known != all.end() ? known->second : all.emplace(pattern, pattern).first->second;
}

Match read(const std::smatch& found) {
  Match match;
  for (const auto& group : found) match.groups.push_back(group);
  match.position = found.position();
  return match;
}

}  // namespace

Match first_match(const std::string& text, const std::string& pattern) {
  std::smatch found;
  return std::regex_search(text, found, compiled(pattern)) ? read(found) : Match{};
}

Match whole_match(const std::string& text, const std::string& pattern) {
  std::smatch found;
  return std::regex_match(text, found, compiled(pattern)) ? read(found) : Match{};
}

std::vector<Match> all_matches(const std::string& text, const std::string& pattern) {
  std::vector<Match> all;
  for (std::sregex_iterator at(text.begin(), text.end(), compiled(pattern)), end; at != end; ++at) {
    all.push_back(read(*at));
  }
  return all;
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& with) {
  return std::regex_replace(text, compiled(pattern), with);
}

}  // namespace testing
