#include "grade/answers.h"

#include "grade/lines.h"

namespace grade {

namespace {

// What is said of an answer quotes it, so that it must be short and of plain letters.
std::string quotable(std::string text) {
  constexpr std::size_t kMost = 400;
  if (text.size() > kMost) text = text.substr(0, kMost) + " ...";
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> answers_in(const std::string& file) {
  std::map<std::string, std::string> answers;
  for (const std::string& whole : lines_of(file)) {
    std::string line = trimmed(whole);
    if (line.starts_with("//")) line = trimmed(line.substr(2));
    if (!line.starts_with("answer ")) continue;
    const std::size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string name = trimmed(line.substr(7, colon - 7));
    const std::string text = trimmed(line.substr(colon + 1));
    if (!name.empty() && !text.empty()) answers[quotable(name)] = quotable(text);
  }
  return answers;
}

}  // namespace grade
