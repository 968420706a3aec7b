#include "grade/answers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "grade/region.h"
#include "grade/tokens.h"
#include "model/refusal.h"
#include "testing/fuzz.h"
#include "testing/program.h"

namespace grade {

namespace {

std::vector<std::string> solutions() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("exercises/solutions")) {
    if (entry.is_regular_file()) files.push_back(testing::contents(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

testing::Fuzz changed_solutions() {
  return testing::Fuzz(
      solutions(), {std::string(kRegionBegins) + "\n",
                    std::string(kRegionEnds) + "\n",
                    "answer why: ",
                    "// answer ",
                    "answer",
                    ":",
                    "/*",
                    "*/",
                    "//",
                    "\\\n",
                    "#pragma unroll\n",
                    "#include <x>\n",
                    "'",
                    "\"",
                    "1'000",
                    "%:",
                    "<::",
                    "asm",
                    "\r\n",
                    "é",
                    "\x1b[31m",
                    std::string(3000, 'x')});
}

}  // namespace

TEST_CASE("an answer is a name and a text, also in a comment, and the last of a name counts") {
  const auto answers =
      answers_in("// answer a: 1\r\nanswer b :  x: y \nanswer c:\nanswer\nanswer : d\nanswer a: 2");
  CHECK(answers == std::map<std::string, std::string>{{"a", "2"}, {"b", "x: y"}});
}

TEST_CASE("any text is scanned for answers, and what is found stands on one line") {
  testing::Fuzz fuzz = changed_solutions();
  std::size_t found = 0;
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    const std::string text = fuzz.next();
    for (const auto& [name, answer] : answers_in(text)) {
      ++found;
      if (name.empty() || answer.empty() || answer.find('\n') != answer.npos) {
        FAIL_CHECK("input ", i, ": ", text::echoed(name), ": ", text::echoed(answer));
      }
    }
  }
  CHECK(found > 0);
}

TEST_CASE("any answer is cut out and put together for the compiler, or refused in a sentence") {
  testing::Fuzz fuzz = changed_solutions();
  const std::vector<std::string> all = solutions();
  std::vector<std::string> skeletons;
  for (const std::string& solution : all) skeletons.push_back(emptied(solution));
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); },
      [&](const std::string& answer) {
        const std::string text = assembled(fuzz.one_of(skeletons), answer, "answer.cu");
        REQUIRE(!text.empty());
      });
}

}  // namespace grade
