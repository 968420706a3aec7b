#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "flags/table.h"
#include "model/refusal.h"
#include "testing/fuzz.h"

namespace flags {

namespace {

using Words = std::vector<std::string>;

Flags parsed(Words words) {
  std::vector<char*> argv{const_cast<char*>("gemm_steps")};
  for (std::string& word : words) argv.push_back(word.data());
  return parse_flags(static_cast<int>(argv.size()), argv.data());
}

// Command lines made from the table of flags: names with values that fit, values that do not fit,
// names cut short, values after = or as the next argument.
class CommandLines {
 public:
  Words next() {
    Words words;
    for (std::size_t flags = fuzz_.upto(5); flags > 0; --flags) add_flag(words);
    if (fuzz_.one_in(10)) words.push_back(fuzz_.next());
    if (fuzz_.one_in(10) && !words.empty()) words.erase(words.begin() + fuzz_.upto(words.size()));
    // main's arguments end at a NUL.
    for (std::string& word : words) word = word.c_str();
    return words;
  }

 private:
  void add_flag(Words& words) {
    const Section& section = fuzz_.one_of(sections());
    const Flag& flag = fuzz_.one_of(section.flags);
    std::string name = flag.short_name && fuzz_.one_in(2) ? flag.short_name : flag.name;
    if (fuzz_.one_in(20)) fuzz_.change(name);
    // A flag that belongs to another one mostly comes with it.
    if (flag.belongs_to && !fuzz_.one_in(4)) words.push_back(flag.belongs_to);
    if ((flag.value == nullptr) != fuzz_.one_in(20)) return words.push_back(name);
    const std::string value = value_of(flag);
    if (fuzz_.one_in(2)) return words.push_back(name + "=" + value);
    words.push_back(name);
    words.push_back(value);
  }

  std::string value_of(const Flag& flag) {
    if (fuzz_.one_in(4)) return fuzz_.next();
    // The values in a refusal's hint must be accepted: "give gpu or cpu", "for example --size
    // 1024".
    const std::string hint = flag.hint;
    Words hinted;
    for (std::size_t at = 0; at < hint.size();) {
      const std::size_t end = std::min(hint.find_first_of(" ,", at), hint.size());
      if (end > at) hinted.push_back(hint.substr(at, end - at));
      at = end + 1;
    }
    return hinted.empty() || fuzz_.one_in(8) ? fuzz_.next() : fuzz_.one_of(hinted);
  }

  testing::Fuzz fuzz_{
      {"0",        "1",       "256",    "1e4",  "2147483647", "4294967296", "1.5",  "-2",
       "+3",       "1e-5",    "1e39",   "nan",  "inf",        "sample",     "all",  "on",
       "off",      "cpu",     "gpu",    "json", "csv",        "markdown",   "list", "5",
       "3-6",      "warp",    "counts", "diff", "idea,time",  "A.npy",      "end",  "barrier:2",
       "RTX 3090", "32x32x8", "",       "--",   "-"},
      {"e9", "999", "-", "--", "=", ",", ".", "0x", " ", "\x1b[2J", "é", "\xe2\x80\xae", "%s"}};
};

}  // namespace

TEST_CASE("any command line is accepted with values in range, or refused in one sentence") {
  CommandLines lines;
  testing::fuzz<model::Refusal>(
      [&] { return lines.next(); },
      [](const Words& words) {
        const Flags flags = parsed(words);
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
