#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "flags/table.h"
#include "model/refusal.h"
#include "testing/fuzz.h"

namespace flags {

TEST_CASE("any command line is accepted with values in range, or refused in one sentence") {
  std::vector<std::string> lines,
      words{" -",      "=",   ",",   "e9",  "nan", "--", "0x",   "%s",  "é",
            "\x1b[2J", "1.5", "cpu", "all", "-2",  " 0", "json", "off", "\xe2\x80\xae"};
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      words.push_back(std::string(" ") + flag.name);
      // What a hint gives as an example must be accepted: "for example --size 1024".
      const std::string hint = flag.hint;
      const std::size_t example = hint.find(flag.name);
      const std::string line = example == hint.npos ? flag.name : hint.substr(example);
      lines.push_back(section.of_first ? section.flags[0].name + (" " + line) : line);
    }
  }
  testing::Fuzz fuzz(lines, words);
  testing::fuzz<model::Refusal>(
      [&] { return split(fuzz.one_in(2) ? fuzz.next() : fuzz.next() + " " + fuzz.next(), ' '); },
      [](std::vector<std::string> line) {
        std::vector<char*> argv{const_cast<char*>("gemm_steps")};
        for (std::string& word : line) argv.push_back(word.data());
        const Flags flags = parse_flags(static_cast<int>(argv.size()), argv.data());
        for (const std::optional<int>& side : {flags.size, flags.m, flags.n, flags.k}) {
          REQUIRE(side.value_or(0) >= 0);
        }
        REQUIRE(flags.reps.value_or(1) >= 1);
        REQUIRE(flags.frame.value_or(0) >= 0);
        REQUIRE(std::isfinite(flags.alpha));
        REQUIRE(std::isfinite(flags.beta));
        REQUIRE(flags.a.empty() == flags.b.empty());
      });
}

}  // namespace flags
