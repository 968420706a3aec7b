#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "flags/flags.h"
#include "flags/table.h"
#include "model/refusal.h"
#include "testing/golden.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace flags {

namespace {

// The words of a command line: "--gpu RTX 3090 --m 1" has four, since a value ends where a flag
// begins.
std::vector<std::string> words_in(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0, end = 0; at < line.size(); at = end + 1) {
    end = std::min(line.find(" -", at), line.size());
    const std::string flag = line.substr(at, end - at);
    const std::size_t value = flag.find('=') == flag.npos ? flag.find(' ') : flag.npos;
    words.push_back(flag.substr(0, value));
    if (value != flag.npos) words.push_back(flag.substr(value + 1));
  }
  return words;
}

Flags parse(std::vector<std::string> words) {
  std::vector<char*> argv{const_cast<char*>("gemm_steps")};
  for (std::string& word : words) argv.push_back(word.data());
  return parse_flags(static_cast<int>(argv.size()), argv.data());
}

Flags parse(const std::string& line) {
  return parse(words_in(line));
}

// What the refusal says, or "accepted".
std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "accepted";
}

std::set<std::string> all_names() {
  std::set<std::string> names;
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) names.insert(flag.name);
  }
  return names;
}

// The words of a text that begin with two dashes.
std::set<std::string> flags_in(const std::string& text) {
  std::set<std::string> flags;
  for (const testing::Match& flag : testing::all_matches(text, "--[a-z][a-z-]*")) {
    flags.insert(flag[0]);
  }
  return flags;
}

}  // namespace

TEST_CASE("every flag reaches its field, as --flag value and as --flag=value") {
  const std::string line =
      "--stage 3-6 --size 4096 --m 1 --n 0 --k 1e3 --alpha -.5 --beta 1e-3 "
      "--seed 18446744073709551615 --reps 3 --out o --device cpu --gpu RTX 3090 --trace all "
      "--variant x --data wide-k --hazards off --format csv --json j --no-color --help --version";
  for (const Flags& flags :
       {parse(line),
        parse(testing::replaced(line, "(--[a-z]+) ([^ ]+)( 3090)? (?=-)", "$1=$2$3 "))}) {
    CHECK(std::tie(flags.stage, flags.out, flags.gpu) == std::tuple("3-6", "o", "RTX 3090"));
    CHECK(std::tie(flags.variant, flags.json) == std::tuple("x", "j"));
    CHECK(std::tie(flags.size, flags.m, flags.n, flags.k) == std::tuple(4096, 1, 0, 1000));
    CHECK(std::tie(flags.alpha, flags.beta, flags.reps) == std::tuple(-0.5f, 1e-3f, 3));
    CHECK(flags.seed == 18446744073709551615u);
    CHECK(flags.device == lab::Device::cpu);
    CHECK(flags.trace == lab::Trace::all);
    CHECK(flags.data == lab::Data::wide_k);
    CHECK(flags.format == Format::csv);
    CHECK((flags.no_color && flags.help && flags.version && !flags.hazards));
  }
  CHECK((parse("--explain").explain && parse("--list").list));
  CHECK(parse("--ncu=n=1.csv").ncu == "n=1.csv");
  const Flags flags = parse("--a A.npy --b B.npy --c C.npy");
  CHECK(std::tie(flags.a, flags.b, flags.c) == std::tuple("A.npy", "B.npy", "C.npy"));
  CHECK(parse("--gpus 2 --resident host").resident == Resident::host);
}

TEST_CASE("numbers are read as typed, and of a repeated flag the last one") {
  CHECK(parse("--size 2147483647").size == 2147483647);
  CHECK(parse("--size 1e9").size == 1000000000);
  CHECK(parse("--size 0e99999999999999999999").size == 0);
  CHECK(parse("--alpha +2").alpha == 2);
  CHECK(parse("--alpha 1e-45").alpha > 0);
  CHECK(parse("--size 1 --size=2").size == 2);
}

TEST_CASE("each of these command lines is refused, or accepted, as its golden file says") {
  std::string sentences;
  for (const std::string& line :
       testing::lines_of(testing::contents("src/flags/command_lines.txt"))) {
    std::vector<std::string> words = words_in(line);
    if (words.empty()) words.emplace_back();
    sentences += line + "\n  " + refusal(words) + "\n";
  }
  testing::compare_with_golden("flags", {{"refused or accepted", sentences}});
}

TEST_CASE("the table says of every flag with which others it goes") {
  // They go with all others. --section has the rules of --explain.
  const std::set<std::string> for_all{"--alpha",   "--help", "--no-color", "--reps",
                                      "--section", "--seed", "--version"};
  std::set<std::string> with_rule;
  for (const Rule& rule : rules()) {
    with_rule.merge(flags_in(rule.given + std::string(" ") + rule.others));
  }
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      if (section.of_first) with_rule.insert(flag.name);
    }
  }
  for (const std::string& name : all_names()) {
    CAPTURE(name);
    CHECK(with_rule.contains(name) != for_all.contains(name));
  }
}

TEST_CASE("beta is 1 if a C is given and beta is not, and a side that is not given is --size") {
  CHECK(parse("--a=x --b=y --c=z").beta == 1);
  CHECK(parse("--beta=0 --a=x --b=y --c=z").beta == 0);
  CHECK(parse("--a=x --b=y").beta == 0);
  const lab::ProblemSize sizes = lab::problem_size(parse("--size 7 --k 0"), 256);
  CHECK((sizes.M == 7 && sizes.N == 7 && sizes.K == 0));
  CHECK(lab::problem_size(parse("--m 5"), 256).N == 256);
}

TEST_CASE("every flag with a value has a hint, and what it demands of others names flags") {
  for (const Section& section : sections()) {
    CHECK(section.flags.back().help != nullptr);
    for (const Flag& flag : section.flags) {
      CAPTURE(std::string(flag.name));
      CHECK((flag.value != nullptr) == (std::string(flag.hint) != ""));
    }
  }
  for (const Rule& rule : rules()) {
    for (const std::string& name : split(rule.given + std::string(",") + rule.others, ',')) {
      const Flag* found = find_flag(split(name, ' ')[0]);
      REQUIRE(found != nullptr);
      CHECK((found->value || name == found->name));
    }
  }
}

TEST_CASE("the table of src/README.md lists every flag and no others") {
  const std::string readme = testing::contents("src/README.md");
  const std::size_t table = readme.find("\n| flag "), end = readme.find("\n\n", table);
  CHECK(flags_in(readme.substr(table, end - table)) == all_names());
}

TEST_CASE("the examples of the help text parse") {
  const auto examples = testing::all_matches(help_text(), "\n  gemm_steps( --.*?)?(?=  |\n)");
  CHECK(examples.size() == 6);
  for (const testing::Match& example : examples) {
    CAPTURE(example[0]);
    CHECK(refusal(words_in(example[1].substr(example[1].empty() ? 0 : 1))) == "accepted");
  }
}

TEST_CASE("--no-color, NO_COLOR, a file and a terminal without a name turn colour off") {
  const testing::Variable terminal_name("TERM", "xterm"), unset("NO_COLOR", nullptr);
  std::FILE* file = std::tmpfile();
  CHECK_FALSE(wants_colour(parse(""), file));
  std::fclose(file);
  if (std::FILE* terminal = std::fopen("/dev/ptmx", "r+")) {
    CHECK(wants_colour(parse(""), terminal));
    CHECK_FALSE(wants_colour(parse("--no-color"), terminal));
    for (const char* no_name : {"", "dumb", static_cast<const char*>(nullptr)}) {
      const testing::Variable name("TERM", no_name);
      CHECK_FALSE(wants_colour(parse(""), terminal));
    }
    const testing::Variable set("NO_COLOR", "1");
    CHECK_FALSE(wants_colour(parse(""), terminal));
    std::fclose(terminal);
  }
}

}  // namespace flags
