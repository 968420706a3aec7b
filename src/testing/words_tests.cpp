// The wording of all texts: comments, messages and pages use the field's phrases.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "testing/pattern.h"
#include "testing/program.h"

namespace testing {
namespace {

namespace fs = std::filesystem;

// A phrase to avoid: a row of words.txt.
struct Rule {
  std::string sign, pattern, instead;
};

// A unit after a number of things, at the end of its phrase: "4 sectors a request." In "registers a
// thread uses" the phrase goes on, and that is English.
const std::string kAUnit =
    " an? (thread|request|warp|block|SM|lane|cycle|result|store|load|second|tile|element)"
    "([.,;:)|<]|$| (and|or|on|in|at|for|instead|is|are|than|to|from|as|with|of)( |$))";

std::vector<Rule> all_rules() {
  std::vector<Rule> rules;
  for (const Match& row : all_matches(
           contents("src/testing/words.txt"), "\n([^#\t\n][^\t\n]*)\t([^\t\n]*)\t([^\n]*)")) {
    rules.push_back({row[1], replaced(row[2], "\\{a unit\\}", kAUnit), row[3]});
  }
  return rules;
}

struct Text {
  std::string words;
  std::vector<std::size_t> starts;  // of each line of the file, in words
};

// The file as running text: without the ends of lines and what only marks a line as comment or
// string, so that a phrase may be on two lines.
Text running_text(const fs::path& path) {
  Text text;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    text.starts.push_back(text.words.size());
    const std::size_t begin = line.find_first_not_of("/#>*\" \t");
    const std::size_t end = line.find_last_not_of("\" \\");
    text.words +=
        end == line.npos || begin > end ? "\n" : line.substr(begin, end + 1 - begin) + " ";
  }
  return text;
}

std::vector<fs::path> all_files() {
  const std::set<std::string> kinds{".md", ".h", ".cpp", ".cu", ".mk", ".sh", ".awk", ".txt"};
  std::vector<fs::path> files = {"README.md",         "walkthrough.md",
                                 "gemm_steps.cu",     "tests.cpp",
                                 "Makefile",          ".ci/run",
                                 "cpu_reference.h",   "cpu_reference.cpp",
                                 "results/README.md", "src/model/hazards.inc"};
  for (const char* folder : {"src", "exercises", "examples"}) {
    for (const fs::path& path : fs::recursive_directory_iterator(folder)) {
      const std::string name = path.filename();
      const bool has_phrases = name == "words.txt" || name == "words_tests.cpp";
      if (kinds.contains(path.extension()) && !has_phrases) files.push_back(path);
    }
  }
  std::ranges::sort(files);
  return files;
}

// "README.md:12: ...phrase...; write: per" for each match.
std::string violations(const std::string& name, const Text& text) {
  static const std::vector<Rule> rules = all_rules();
  static constexpr std::size_t kBefore = 40, kAfter = 60;
  std::string found;
  for (const auto& [sign, pattern, instead] : rules) {
    std::size_t searched = 0;
    for (std::size_t at = 0; (at = text.words.find(sign, at)) != std::string::npos; ++at) {
      const std::size_t begin = std::max(searched, at > kBefore ? at - kBefore : 0);
      const Match match = first_match(text.words.substr(begin, at + kAfter - begin), pattern);
      if (!match) continue;
      const std::size_t place = begin + match.position;
      searched = place + match[0].size();
      const auto line = std::ranges::upper_bound(text.starts, place);
      found += name + ":" + std::to_string(line - text.starts.begin()) + ": \"" + match[0] +
               "\"; write: " + instead + "\n";
    }
  }
  return found;
}

}  // namespace

TEST_CASE("all texts use the field's phrases") {
  std::string found;
  for (const fs::path& path : all_files()) found += violations(path.string(), running_text(path));
  INFO(found);
  CHECK(found.empty());
}

TEST_CASE("a phrase to avoid is found across lines, and its right form is not") {
  const auto of = [](const std::string& words) { return violations("t", Text{words, {0}}); };
  CHECK(
      of("It makes 32 sectors a request. ") ==
      "t:1: \"sectors a request.\"; write: per: 4 sectors per request\n");
  for (const char* wrong :
       {"2 blocks an SM and ", "512 loads a thread, 3 stores a thread", "it waits for ever",
        "Issue has most to do, as before"}) {
    CHECK_MESSAGE(!of(wrong).empty(), wrong);
  }
  for (const char* right :
       {"It makes 32 sectors per request. ", "registers a thread uses",
        "a thread loads a tile, then stores a result.",
        "which line has most to do with a target"}) {
    CHECK_MESSAGE(of(right).empty(), right);
  }
}

}  // namespace testing
