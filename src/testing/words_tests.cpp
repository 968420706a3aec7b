// The wording of all texts: comments, messages and pages use the field's phrases.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "testing/pattern.h"

namespace testing {
namespace {

namespace fs = std::filesystem;

// A phrase to avoid. `sign` is a part of every match: it is searched for first, because patterns
// are slow.
struct Rule {
  const char* sign;
  std::string pattern;
  const char* instead;
};

// A unit after a number of things, at the end of its phrase: "4 sectors a request." In "registers a
// thread uses" the phrase goes on, and that is English.
const std::string kAUnit =
    " an? (thread|request|warp|block|SM|lane|cycle|result|store|load|second|tile|element)"
    "([.,;:)|<]|$| (and|or|on|in|at|for|instead|is|are|than|to|from|as|with|of)( |$))";

const Rule kRules[] = {
    {" a ",
     "\\b(sectors|registers|wavefronts|lines|words|bytes|[0-9] B|barriers|instructions|conflicts|"
     "multiply-adds|FMAs|accesses|results|warps)" +
         kAUnit,
     "per: 4 sectors per request"},
    {" an ",
     "\\b([0-9.,]+ blocks|warps|bytes|registers|threads|instructions|lines|wavefronts)" + kAUnit,
     "per: 2 blocks per SM"},
    {" a ",
     "\\b([0-9.,]+|global|shared|GMEM|SMEM) (loads|stores|requests|floats|blocks|threads)" + kAUnit,
     "per: 512 loads per thread"},
    {" a ",
     "\\b[0-9]([0-9.,]*[0-9])? a "
     "(thread|request|warp|block|lane|cycle|result|store|load)([.,;:)|]|$)",
     "per: 2 per request"},
    {" a", "%[0-9.l]*[sdfgu] an? (thread|request|warp|block|SM|lane|cycle|result|store|load)\\b",
     "per: %s per request"},
    {" a word", "\\b(end|ends|fail|fails|merge|merged|linker|ignored?) [^.]*without a word\\b",
     "silently"},
    {" use for ", "\\b(has|have) no use for\\b", "does not use"},
    {"held ", "\\bheld (against|to) (the|it|what|those|an?|each)\\b", "compared with, checked by"},
    {"stands ", "\\bwhat stands (here|there|behind|before|after|around|in|at|below|above)\\b",
     "is: the text below"},
    {"behind ",
     "\\bbehind (the|an?|its|each|that|this) (last|end|edge|barrier|loop|comment|fence|call|jump|"
     "exit|store|load|first|kernel|__sync\\w*)\\b",
     "after, beyond"},
    {" no ",
     "\\b(it|that|which|this|what) (is|are) no (mistake|failure|multiple|crash|matrix|key|flag|"
     "number|memory|stage|string|formula|hazard|element|kernel|file|place|template|letters?|tf32)"
     "\\b",
     "is not a"},
    {" way", "\\b(copy|copies|cp\\.async|tiles?|bytes) (still )?(is |are )?on (its|their) way\\b",
     "in flight"},
    {" ever", "\\bfor ever\\b", "forever"},
    {" vain", "\\bin vain\\b", "wasted, unused"},
    {"begin", "(\\b[A-Z]|'s|\\bits) begin\\b", "start"},
    {" more", "\\bbinds no more\\b", "is no longer the limit"},
    {" had", "\\b(is|are) (not )?to be had\\b", "is available"},
    {"hoever", "\\b[Ww]hoever\\b", "a reader who, if you"},
    {" is", "\\bfor it is\\b", "because it is"},
    {" sentence", "\\b(said|told) in (a|one) sentence\\b", "reported in one sentence"},
    {" round", "\\b(goes|go|a|per|one) round (of the|along|through)\\b", "an iteration"},
    {"worth ", "\\b(is|are) worth as much as\\b", "means little without"},
    {"Who ", "\\bWho (waits|asks|reads|writes|copies), ", "a waiting thread waits only for these"},
    {"obody ", "\\b[Nn]obody can tell\\b", "you cannot give it an address"},
    {"most to do", "\\b(has|have|with) (the )?most to do\\b(?! with)", "is the busiest unit"},
    {"half the ", "\\bhalf the \\w+ (is|are) half the\\b", "halving the warps halves the speed"},
    {" for B?", "\\b[A-Z]\\w+ for A, for B\\?", "How many sectors does A's load touch, and B's?"},
    {"times fewer", "\\btimes fewer\\b", "a quarter as many"},
    {"nothing of its own", "\\bsays nothing of its own\\b", "prints nothing"},
    {"not with 0", "\\band not with 0\\b", "and with another code if not"},
    {" not one ", "\\band not one \\w+ more\\b", "and no extra memory"},
    {" did not know yet", "\\bdid not know yet\\b", "the program that wrote this"},
    {"Begin so", "Begin so\\.", "Where to start."},
    {" told ", "\\b(is|are|be|was) told (so|why|apart|from)\\b",
     "gets a message, is distinguished"},
    {"all told", "\\ball told\\b", "in total"},
    {"Who ", "\\bWho (comes|does not|uses|cannot|leaves)\\b", "the last block to arrive"},
    {"word is said", "\\bword is said\\b", "before any report"},
    {" to say ", "\\bthere is to say (of|about)\\b", "the facts about, the complaint about"},
    {"grave", "\\bgrave(r|st)\\b", "more serious"},
    {"nybody's", "\\b[Aa]nybody's\\b", "a user's"},
    {"travel", "\\btravels? in the program\\b", "is embedded in the program"},
    {" end", "\\b(came|come|comes) to (its|their) end\\b", "finishes"},
    {"said", "\\bsaid ?=[^=]", "a noun: message, output, sentence"},
    {"told", "\\btold ?=[^=]", "a noun: report, hint, feedback"},
};

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
    std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) {
      text.words += "\n";
      continue;
    }
    while (begin < line.size() && std::string("/#>*\" ").find(line[begin]) != std::string::npos) {
      ++begin;
    }
    std::size_t end = line.size();
    while (end > begin && std::string("\" \\").find(line[end - 1]) != std::string::npos) --end;
    text.words += line.substr(begin, end - begin) + " ";
  }
  return text;
}

void add_files(const fs::path& folder, std::vector<fs::path>& files) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string end = entry.path().extension().string();
    const bool has_words = end == ".md" || end == ".h" || end == ".cpp" || end == ".cu" ||
                           end == ".mk" || end == ".sh" || end == ".awk" || end == ".txt" ||
                           entry.path().filename() == "hazards.inc";
    if (has_words && entry.path() != fs::path(__FILE__) &&
        entry.path().filename() != "words_tests.cpp") {
      files.push_back(entry.path());
    }
  }
}

std::vector<fs::path> all_files() {
  std::vector<fs::path> files = {"README.md",         "walkthrough.md", "gemm_steps.cu",
                                 "tests.cpp",         "Makefile",       ".ci/run",
                                 "cpu_reference.cpp", "cpu_reference.h"};
  files.push_back("results/README.md");
  for (const char* folder : {"src", "exercises", "examples"}) add_files(folder, files);
  std::sort(files.begin(), files.end());
  return files;
}

// "README.md:12: ...phrase...; write: per" for each match.
std::string violations(const std::string& name, const Text& text, const Rule& rule) {
  static constexpr std::size_t kBefore = 40, kAfter = 60;
  std::string found;
  std::size_t searched = 0;
  for (std::size_t at = 0; (at = text.words.find(rule.sign, at)) != std::string::npos; ++at) {
    const std::size_t begin = std::max(searched, at > kBefore ? at - kBefore : 0);
    const std::string window = text.words.substr(begin, at + kAfter - begin);
    const Match match = first_match(window, rule.pattern);
    if (!match) continue;
    const std::size_t place = begin + match.position;
    searched = place + match[0].size();
    const auto line = std::upper_bound(text.starts.begin(), text.starts.end(), place);
    found += name + ":" + std::to_string(line - text.starts.begin()) + ": \"" + match[0] +
             "\"; write: " + rule.instead + "\n";
  }
  return found;
}

std::string violations(const std::string& name, const Text& text) {
  std::string found;
  for (const Rule& rule : kRules) found += violations(name, text, rule);
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
      "t:1: \"sectors a request.\"; write: per: 4 "
      "sectors per request\n");
  CHECK(of("It makes 32 sectors per request. ").empty());
  CHECK(of("registers a thread uses").empty());
  CHECK(of("a thread loads a tile, then stores a result.").empty());
  CHECK(of("2 blocks an SM and ").starts_with("t:1: \"2 blocks an SM and \""));
  CHECK(
      of("512 loads a thread, 3 stores a thread").find("512 loads a thread,") != std::string::npos);
  CHECK(of("it waits for ever").starts_with("t:1: \"for ever\""));
  CHECK(of("Issue has most to do, as before").starts_with("t:1: \"has most to do\""));
  CHECK(of("which line has most to do with a target").empty());
}

}  // namespace testing
