// similar [LEAST]: finds answers of a class that resemble each other more than by chance.
//
// Reads from stdin, each ended by a zero byte, triples: an exercise, a student, the path of the
// answer. Writes a CSV line for every pair that shares at least the part LEAST (0.8) of the shorter
// answer's text: exercise, the two students, that part, and whether the text is the same, letter by
// letter.
//
// Only the marked regions are compared, not the skeleton around them. Comments, spaces and names do
// not count: every name becomes the same sign, so that renaming hides nothing. Runs of tokens that
// occur in many answers of the class follow from the task, and do not count either. Text that is
// equal letter by letter always counts.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "school/grade/answer.h"

namespace grade {

namespace {

constexpr std::size_t kRun = 10;         // tokens: shorter runs are the same in all programs
constexpr std::size_t kFewestRuns = 12;  // an answer with less of its own proves nothing
constexpr std::size_t kAlwaysRare = 6;   // this many students may always be one group of copies
constexpr std::size_t kShortest = 100;   // characters: longer equal text is not chance

struct Answer {
  std::string student;
  std::string text;  // of the regions
  std::set<std::size_t> runs;
};

std::string regions_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  bool inside = false;
  for (const std::string& whole : lines_of({std::istreambuf_iterator<char>(file), {}})) {
    const std::string line = trimmed(whole);
    if (line == kRegionEnds) inside = false;
    if (inside) text += line + "\n";
    if (line == kRegionBegins) inside = true;
  }
  return text;
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Words of the language keep their meaning; all other names are one.
std::vector<std::string> tokens_of(std::string_view text) {
  static const std::set<std::string_view> kWords = {
      "for",    "while", "if",    "else",     "do",         "return",       "float",
      "float4", "int",   "const", "unsigned", "__shared__", "__syncthreads"};
  std::vector<std::string> tokens;
  while (!text.empty()) {
    std::size_t length = 1;
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      text.remove_prefix(end == text.npos ? text.size() : end + 2);
      continue;
    }
    if (in_name(text[0])) {
      while (length < text.size() && in_name(text[length])) ++length;
      const std::string_view word = text.substr(0, length);
      const bool number = std::isdigit(static_cast<unsigned char>(word[0]));
      tokens.emplace_back(number || kWords.contains(word) ? word : "name");
    } else if (!std::isspace(static_cast<unsigned char>(text[0]))) {
      tokens.emplace_back(text.substr(0, 1));
    }
    text.remove_prefix(length);
  }
  return tokens;
}

std::set<std::size_t> runs_of(const std::string& text) {
  const std::vector<std::string> tokens = tokens_of(text);
  std::set<std::size_t> runs;
  for (std::size_t i = 0; i + kRun <= tokens.size(); ++i) {
    std::string run;
    for (std::size_t j = i; j < i + kRun; ++j) run += tokens[j] + " ";
    runs.insert(std::hash<std::string>()(run));
  }
  return runs;
}

// Removes what more than a quarter of the class has.
void leave_out_the_usual(std::vector<Answer>& answers) {
  std::map<std::size_t, std::size_t> students;
  for (const Answer& answer : answers) {
    for (const std::size_t run : answer.runs) ++students[run];
  }
  const std::size_t most = std::max(kAlwaysRare, answers.size() / 4);
  for (Answer& answer : answers) {
    std::erase_if(answer.runs, [&](std::size_t run) { return students[run] > most; });
  }
}

double shared_part(const Answer& a, const Answer& b) {
  if (a.text == b.text && a.text.size() > kShortest) return 1;
  const std::size_t fewer = std::min(a.runs.size(), b.runs.size());
  if (fewer < kFewestRuns) return 0;
  const auto shared = std::count_if(
      a.runs.begin(), a.runs.end(), [&](std::size_t run) { return b.runs.contains(run); });
  return double(shared) / double(fewer);
}

std::string quoted(const std::string& text) {
  std::string csv = "\"";
  for (const char c : text) csv += c == '"' ? "\"\"" : std::string(1, c);
  return csv + "\"";
}

}  // namespace

}  // namespace grade

int main(int argc, char** argv) {
  using namespace grade;
  double least = 0.8;
  if (argc > 1) {
    const char* end = argv[1] + std::strlen(argv[1]);
    const auto parsed = std::from_chars(argv[1], end, least);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(least > 0) || least > 1) {
      std::fprintf(
          stderr, "SIMILAR=%s: give the part that two answers share, above 0 and up to 1\n",
          argv[1]);
      return 2;
    }
  }
  std::map<std::string, std::vector<Answer>> exercises;
  std::string exercise, student, path;
  while (std::getline(std::cin, exercise, '\0') && std::getline(std::cin, student, '\0') &&
         std::getline(std::cin, path, '\0')) {
    const std::string text = regions_in(path);
    exercises[exercise].push_back({student, text, runs_of(text)});
  }
  std::puts("exercise,one,other,shared,same_text");
  for (auto& [name, answers] : exercises) {
    leave_out_the_usual(answers);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      for (std::size_t j = i + 1; j < answers.size(); ++j) {
        const Answer &a = answers[i], &b = answers[j];
        const double part = shared_part(a, b);
        if (part < least) continue;
        std::printf(
            "%s,%s,%s,%.2f,%s\n", quoted(name).c_str(), quoted(a.student).c_str(),
            quoted(b.student).c_str(), part, a.text == b.text ? "yes" : "no");
      }
    }
  }
}
