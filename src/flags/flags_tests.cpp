#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "flags/flags.h"
#include "flags/table.h"
#include "model/refusal.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace flags {

namespace {

Flags parse(std::vector<std::string> arguments) {
  std::vector<char*> argv{const_cast<char*>("gemm_steps")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_flags(static_cast<int>(argv.size()), argv.data());
}

// What the refusal says, or "accepted".
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
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

TEST_CASE("without flags, everything has its default") {
  const Flags flags = parse({});
  CHECK(flags.stage.empty());
  CHECK_FALSE(flags.size.has_value());
  CHECK(flags.alpha == 1);
  CHECK(flags.beta == 0);
  CHECK(flags.device == lab::Device::automatic);
  CHECK(flags.trace == lab::Trace::sample);
  CHECK(flags.format == report::Format::table);
  CHECK_FALSE(flags.explain);
}

TEST_CASE("every flag reaches its field, as --flag value and as --flag=value") {
  const std::vector<std::pair<std::string, std::string>> given = {
      {"--stage", "3-6"},  {"--size", "4096"},
      {"--m", "1"},        {"--n", "0"},
      {"--k", "1e3"},      {"--alpha", "-.5"},
      {"--beta", "1e-3"},  {"--seed", "18446744073709551615"},
      {"--reps", "3"},     {"--out", "o"},
      {"--device", "cpu"}, {"--gpu", "RTX 3090"},
      {"--trace", "all"},  {"--variant", "x"},
      {"--format", "csv"}};
  std::vector<std::string> apart = {"--no-color", "--help", "--version"};
  std::vector<std::string> joined = apart;
  for (const auto& [name, value] : given) {
    apart.insert(apart.end(), {name, value});
    joined.push_back(name + "=" + value);
  }
  for (const Flags& flags : {parse(apart), parse(joined)}) {
    CHECK(flags.stage == "3-6");
    CHECK(flags.size == 4096);
    CHECK(flags.m == 1);
    CHECK(flags.n == 0);
    CHECK(flags.k == 1000);
    CHECK(flags.alpha == -0.5f);
    CHECK(flags.beta == 1e-3f);
    CHECK(flags.seed == 18446744073709551615u);
    CHECK(flags.reps == 3);
    CHECK(flags.out == "o");
    CHECK(flags.device == lab::Device::cpu);
    CHECK(flags.gpu == "RTX 3090");
    CHECK(flags.trace == lab::Trace::all);
    CHECK(flags.variant == "x");
    CHECK(flags.format == report::Format::csv);
    CHECK(flags.no_color);
    CHECK(flags.help);
    CHECK(flags.version);
  }
  CHECK(parse({"--explain"}).explain);
  CHECK(parse({"--list"}).list);
  CHECK(parse({"--ncu=n=1.csv"}).ncu == "n=1.csv");
  const Flags files = parse({"--a", "A.npy", "--b", "B.npy", "--c", "C.npy"});
  CHECK(files.a == "A.npy");
  CHECK(files.b == "B.npy");
  CHECK(files.c == "C.npy");
}

TEST_CASE("the last one of a repeated flag counts") {
  CHECK(parse({"--size", "1", "--size=2"}).size == 2);
}

TEST_CASE("a size is a whole number of at most 2^31 - 1") {
  CHECK(parse({"--size", "2147483647"}).size == 2147483647);
  CHECK(parse({"--size", "1e9"}).size == 1000000000);
  CHECK(parse({"--size", "0"}).size == 0);
  CHECK(parse({"--size", "0e99999999999999999999"}).size == 0);
  const std::string hint = "; give rows as a whole number, for example --size 1024";
  CHECK(refusal({"--size", "0x"}) == "--size 0x: not a number" + hint);
  CHECK(refusal({"--size", "-1"}) == "--size -1: negative" + hint);
  CHECK(refusal({"--size", "1.5"}) == "--size 1.5: not a whole number" + hint);
  CHECK(refusal({"--size", "2147483648"}) == "--size 2147483648: more than 2147483647" + hint);
  CHECK(refusal({"--size", "1e10"}) == "--size 1e10: more than 2147483647" + hint);
  CHECK(refusal({"--size="}) == "--size \"\": not a number" + hint);
  CHECK(refusal({"--size"}) == "--size: the value is missing" + hint);
  CHECK(refusal({"--size", "--m", "3"}) == "--size: the value is missing" + hint);
  for (const char* bad :
       {"0x10", "1e", "e3", "4k", " 4", "4 ", "+4", "1,000", "١", "--", "1e1e1"}) {
    CAPTURE(bad);
    CHECK(
        refusal({std::string("--size=") + bad}) ==
        std::string("--size ") + bad + ": not a number" + hint);
  }
  CHECK(refusal({"--size", "99999999999999999999999999"}).find(": more than") != std::string::npos);
  CHECK(refusal({"--size", "1e99999999999999999999"}).find(": more than") != std::string::npos);
  CHECK(refusal({"--seed", "18446744073709551616"}).find(": more than") != std::string::npos);
  CHECK(refusal({"--reps", "0"}).starts_with("--reps 0: nothing to time; "));
}

TEST_CASE("alpha and beta are finite numbers that fp32 can hold") {
  CHECK(parse({"--alpha", "+2"}).alpha == 2);
  CHECK(parse({"--alpha", "0"}).alpha == 0);
  CHECK(parse({"--alpha", "1e-45"}).alpha > 0);
  for (const char* bad : {"", "x", "1x", "+-1", "0x1", "1,5", "--1"}) {
    CAPTURE(bad);
    CHECK(refusal({std::string("--alpha=") + bad}).find(": not a number; ") != std::string::npos);
  }
  CHECK(refusal({"--beta", "1e39"}).starts_with("--beta 1e39: outside the range of fp32; "));
  CHECK(refusal({"--beta", "1e-99"}).starts_with("--beta 1e-99: outside the range of fp32; "));
  CHECK(refusal({"--beta", "1e999"}).starts_with("--beta 1e999: outside the range of fp32; "));
  CHECK(refusal({"--beta", "nan"}).starts_with("--beta nan: not a finite number; "));
}

TEST_CASE("a flag that does not exist is refused with the nearest one") {
  CHECK(refusal({"--sise", "3"}) == "--sise: no such flag; did you mean --size?");
  CHECK(refusal({"--no-colour"}) == "--no-colour: no such flag; did you mean --no-color?");
  CHECK(refusal({"--explian=1"}) == "--explian: no such flag; did you mean --explain?");
  CHECK(refusal({"--frobnicate"}) == "--frobnicate: no such flag; --help lists the flags");
  CHECK(refusal({"-x"}) == "-x: no such flag; --help lists the flags");
  CHECK(refusal({"5"}) == "5: not a flag; for a stage write --stage 5, --help lists the flags");
  CHECK(refusal({""}).starts_with("\"\": not a flag"));
  CHECK(refusal({"--list=3"}) == "--list=3: takes no value; write --list");
}

TEST_CASE("a choice accepts only its words") {
  CHECK(refusal({"--device", "tpu"}) == "--device tpu: not one of the choices; give gpu or cpu");
  CHECK(refusal({"--trace="}) == "--trace \"\": not one of the choices; give sample, all or none");
  CHECK(refusal({"--format", "JSON"}).starts_with("--format JSON: not one of the choices"));
}

TEST_CASE("flags that do not go together are refused") {
  CHECK(refusal({"--a", "A.npy"}) == "--a A.npy: B is missing; give --b B.npy too");
  CHECK(
      refusal({"--a", "A.npy", "--b", "B.npy", "--data", "wide-k"}) ==
      "--data wide-k: A and B come from files; leave --data out");
  CHECK(refusal({"--b", "B.npy"}) == "--b B.npy: A is missing; give --a A.npy too");
  CHECK(refusal({"--c", "C.npy"}).starts_with("--c C.npy: A and B are missing"));
  CHECK(refusal({"--a=x", "--b=y", "--k=3"}).starts_with("--k and --a: "));
  CHECK(refusal({"--a=x", "--b=y", "--beta=3"}).starts_with("--beta: C is missing"));
  CHECK(refusal({"--variant", "8x8"}).starts_with("--variant 8x8: the stage is missing"));
}

TEST_CASE("no file is written twice or over an input, but C may be computed in place") {
  CHECK(
      refusal({"--json=F", "--out=./F"}) ==
      "--json F: that is also the file of --out; give another one");
  CHECK(refusal({"--a=A.npy", "--b=B.npy", "--out=x/../A.npy"}).starts_with("--out "));
  CHECK(refusal({"--a=A.npy", "--b=B.npy", "--json=B.npy"})
            .starts_with("--json B.npy: that is also"));
  CHECK(refusal({"--gpus=2", "--timeline=F", "--out=F"}).starts_with("--timeline F: "));
  CHECK(refusal({"--a=A.npy", "--b=B.npy", "--c=C.npy", "--out=C.npy"}) == "accepted");
  CHECK(refusal({"--json=/dev/null", "--out=/dev/null"}) == "accepted");
  CHECK(refusal({"--json=F", "--out=G"}) == "accepted");
}

TEST_CASE("one request at a time; no flag is accepted and then ignored") {
  CHECK(
      refusal({"--list", "--figures=x"}) ==
      "--list and --figures: they cannot be combined; leave one out");
  CHECK(refusal({"--experiment=x", "--step"}).starts_with("--experiment and --step: "));
  CHECK(refusal({"--ncu=x", "--ncu-units=y"}).starts_with("--ncu and --ncu-units: "));
  CHECK(refusal({"--figures=x", "--out=C.npy"}) == "--figures does not use --out; leave --out out");
  CHECK(refusal({"--list", "--section=idea"}).starts_with("--list does not use --explain"));
  CHECK(refusal({"--ncu=x", "--format=json"}).starts_with("--ncu does not use --format"));
  CHECK(refusal({"--ncu=x", "--out=C.npy"}) == "accepted");
  CHECK(refusal({"--ncu-caches=x", "--experiment=y"}) == "accepted");
  CHECK(refusal({"--ncu-caches=x", "--ncu=y"}).starts_with("--ncu and --ncu-caches: "));
  CHECK(refusal({"--ncu-caches=x", "--explain"}).starts_with("--ncu-caches does not use --expl"));
  CHECK(refusal({"--ncu-caches=x", "--experiment=y", "--format=csv"})
            .starts_with("--ncu-caches does not use --format"));
  CHECK(refusal({"--list", "--format=json"}) == "accepted");
  for (const char* other : {"--page=x", "--figures=x", "--legend", "--ncu-metrics", "--gpus=2"}) {
    CHECK(refusal({other, "--format=json"}).find(" does not use --format") != std::string::npos);
  }
  CHECK(refusal({"--list", "--legend"}).starts_with("--list and --legend: "));
  CHECK(refusal({"--legend", "--explain"}).starts_with("--legend does not use --explain"));
  CHECK(refusal({"--wide", "--explain"}).starts_with("--wide and --explain: only the table"));
  CHECK(refusal({"--wide", "--format=csv"}).starts_with("--wide and --format: only the table"));
  CHECK(refusal({"--wide", "--stage=3"}) == "accepted");
  CHECK(refusal({"--experiment=x", "--format=csv"}) == "accepted");
  CHECK(refusal({"--explain", "--out=C.npy"}) == "accepted");
}

// "--a=x", with the value of the flag's hint, which is accepted.
std::string example_of(const Flag& flag) {
  const std::string name = flag.name;
  if (flag.value == nullptr) return name;
  const auto found = testing::all_matches(flag.hint, name + " ([^ ,;]+)");
  return name + "=" + (found.empty() ? "x" : found[0][1]);
}

TEST_CASE("the table says of every flag with which others it goes") {
  // They go with all others. --section has the rules of --explain.
  const std::set<std::string> for_all{"--alpha", "--gpu",     "--help", "--no-color",
                                      "--reps",  "--section", "--seed", "--version"};
  std::set<std::string> with_rule;
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      for (const auto* rules : {&flag.needs, &flag.excludes}) {
        for (const Rule& rule : *rules) {
          with_rule.insert(flag.name);
          for (const char* other : rule.others) with_rule.insert(*flags_in(other).begin());
        }
      }
      if (flag.belongs_to != nullptr) with_rule.insert(flag.name);
      if (!flag.ignores.empty()) with_rule.insert(flag.name);
      with_rule.insert(flag.ignores.begin(), flag.ignores.end());
    }
  }
  for (const std::string& name : all_names()) {
    CAPTURE(name);
    CHECK(with_rule.contains(name) != for_all.contains(name));
  }
}

TEST_CASE("no flag that the table calls ignored is accepted") {
  int pairs = 0;
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      for (const char* other : flag.ignores) {
        const std::string typed = example_of(flag), ignored = example_of(*find_flag(other));
        CAPTURE(typed);
        CAPTURE(ignored);
        CHECK(testing::contains(refusal({typed, ignored}), other));
        ++pairs;
      }
    }
  }
  CHECK(pairs > 20);
}

TEST_CASE(
    "flags of --step are refused without it, and flags that it cannot use are refused with it") {
  CHECK(refusal({"--print"}) == "--print: needs --step; add it");
  CHECK(refusal({"--until=end"}) == "--until: needs --step; add it");
  CHECK(refusal({"--print", "--until=end", "--step"}) == "accepted");
  CHECK(
      refusal({"--step", "--until=end", "--frame=3"}) ==
      "--until and --frame: each says where to start; leave one out");
  for (const char* other : {"--device=gpu", "--trace=all", "--hazards=off"}) {
    CHECK(refusal({"--step", other}).find(": does not go with --step") != std::string::npos);
  }
  CHECK(refusal({"--step", "--device=cpu", "--trace=sample", "--hazards=on"}) == "accepted");
  CHECK(
      refusal({"--step", "--format=json"}) ==
      "--format: does not go with --step, which shows one traced block as text; leave one out");
}

TEST_CASE("beta is 1 if a C is given and beta is not") {
  CHECK(parse({"--a=x", "--b=y", "--c=z"}).beta == 1);
  CHECK(parse({"--beta=0", "--a=x", "--b=y", "--c=z"}).beta == 0);
  CHECK(parse({"--a=x", "--b=y"}).beta == 0);
}

TEST_CASE("--m, --n and --k override --size, which overrides the default") {
  const lab::ProblemSize sizes = lab::problem_size(parse({"--size", "7", "--k", "0"}), 256);
  CHECK(sizes.M == 7);
  CHECK(sizes.N == 7);
  CHECK(sizes.K == 0);
  CHECK(lab::problem_size(parse({"--m", "5"}), 256).N == 256);
}

TEST_CASE("the help text names every flag and every section of an explanation within 100 columns") {
  const std::string help = help_text();
  const std::set<std::string> named = flags_in(help);
  for (const std::string& name : all_names()) {
    CAPTURE(name);
    CHECK(named.contains(name));
  }
  for (const char* section : report::explained_sections()) {
    CAPTURE(std::string(section));
    CHECK(testing::first_match(help, std::string("\\b") + section + "\\b"));
  }
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

TEST_CASE("every flag with a value has a hint, and what it demands of others names flags") {
  for (const Section& section : sections()) {
    CHECK(section.flags.back().then == nullptr);
    for (const Flag& flag : section.flags) {
      CAPTURE(std::string(flag.name));
      CHECK((flag.value != nullptr) == (std::string(flag.hint) != ""));
      CHECK(flag.set);
      CHECK(find_flag(flag.name) == &flag);
      std::vector<Rule> rules = flag.needs;
      rules.insert(rules.end(), flag.excludes.begin(), flag.excludes.end());
      rules.push_back({flag.ignores, ""});
      if (flag.belongs_to) rules.push_back({{flag.belongs_to}, ""});
      if (flag.beside) rules.push_back({{flag.beside}, ""});
      for (const Rule& rule : rules) {
        if (rule.unless) CHECK(find_flag(rule.unless) != nullptr);
        for (const std::string other : rule.others) {
          const Flag* found = find_flag(other.substr(0, other.find(' ')));
          REQUIRE(found != nullptr);
          CHECK((found->value || other == found->name));
        }
      }
    }
  }
}

TEST_CASE("the table of src/README.md lists every flag and no others") {
  std::ifstream readme("src/README.md");
  std::string table;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    inside = line.starts_with("| flag ") || (inside && line.starts_with("|"));
    if (inside) table += line + "\n";
  }
  CHECK(flags_in(table) == all_names());
}

TEST_CASE("the examples of the help text parse") {
  std::istringstream lines(help_text());
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  gemm_steps")) continue;
    const std::size_t comment = line.find("   ", 2);
    std::istringstream words(line.substr(0, comment));
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) {
      if (!arguments.empty() && arguments.back().starts_with('"') &&
          !arguments.back().ends_with('"')) {
        arguments.back() += " " + word;
      } else {
        arguments.push_back(word);
      }
    }
    arguments.erase(arguments.begin());
    CAPTURE(line);
    CHECK(refusal(arguments) == "accepted");
    ++examples;
  }
  CHECK(examples == 6);
}

TEST_CASE("--no-color, NO_COLOR, a file and a terminal without a name turn colour off") {
  const testing::Variable terminal_name("TERM", "xterm"), unset("NO_COLOR", nullptr);
  std::FILE* file = std::tmpfile();
  CHECK_FALSE(wants_colour(parse({}), file));
  std::fclose(file);
  if (std::FILE* terminal = std::fopen("/dev/ptmx", "r+")) {
    CHECK(wants_colour(parse({}), terminal));
    CHECK_FALSE(wants_colour(parse({"--no-color"}), terminal));
    for (const char* no_name : {"", "dumb", static_cast<const char*>(nullptr)}) {
      const testing::Variable name("TERM", no_name);
      CHECK_FALSE(wants_colour(parse({}), terminal));
    }
    const testing::Variable set("NO_COLOR", "1");
    CHECK_FALSE(wants_colour(parse({}), terminal));
    std::fclose(terminal);
  }
}

namespace {

std::vector<model::Stage> some_stages() {
  const auto stage = [](int number, const char* name, std::vector<model::Variant> variants) {
    return model::Stage{number, name, {}, std::move(variants)};
  };
  const auto variant = [](const char* name) {
    return model::Variant{name, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {}, {}};
  };
  return {
      stage(0, "serial", {}), stage(1, "naive", {variant("32x32"), variant("8x8")}),
      stage(3, "shared-memory tiling", {variant("16x16")}),
      stage(4, "1D thread coarsening", {variant("64x64x8")}),
      stage(5, "serial twin", {variant("1x1")})};
}

std::vector<int> selected(const std::string& text) {
  const std::vector<model::Stage> stages = some_stages();
  std::vector<int> numbers;
  for (const model::Stage* stage : select_stages(text, stages)) numbers.push_back(stage->number);
  return numbers;
}

std::string stage_refusal(const std::string& text) {
  try {
    selected(text);
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a stage is given as a number, a range, a name or its beginning") {
  CHECK(selected("") == std::vector<int>{0, 1, 3, 4, 5});
  CHECK(selected("0") == std::vector<int>{0});
  CHECK(selected("03") == std::vector<int>{3});
  CHECK(selected("1-4") == std::vector<int>{1, 3, 4});
  CHECK(selected("4-4") == std::vector<int>{4});
  CHECK(selected("1-") == std::vector<int>{1, 3, 4, 5});
  CHECK(selected("5-") == std::vector<int>{5});
  CHECK(selected("Shared Memory Tiling") == std::vector<int>{3});
  CHECK(selected("shared-memory") == std::vector<int>{3});
  CHECK(selected("1D") == std::vector<int>{4});
  CHECK(selected("serial") == std::vector<int>{0});
  CHECK(select_stages("", {}).empty());
}

TEST_CASE("an unknown stage is refused with a list of the stages") {
  const std::string list =
      "; the stages are 0 serial, 1 naive, 3 shared-memory tiling, 4 1D thread coarsening, "
      "5 serial twin";
  CHECK(stage_refusal("13") == "--stage 13: there is no stage 13" + list);
  CHECK(stage_refusal("3-13") == "--stage 3-13: there is no stage 13" + list);
  CHECK(
      stage_refusal("99999999999999") ==
      "--stage 99999999999999: there is no stage 99999999999999" + list);
  CHECK(stage_refusal("-1") == "--stage -1: there is no such stage" + list);
  CHECK(stage_refusal("-") == "--stage -: there is no such stage" + list);
  CHECK(stage_refusal("0x") == "--stage 0x: there is no such stage" + list);
  CHECK(stage_refusal("2-") == "--stage 2-: there is no stage 2" + list);
  CHECK(stage_refusal("ser") == "--stage ser: more than one stage begins with this" + list);
  CHECK(stage_refusal("4-1") == "--stage 4-1: the range runs backwards; write --stage 1-4");
}

TEST_CASE("a variant must be one of its stage's; without a name it is the first") {
  const std::vector<model::Stage> stages = some_stages();
  CHECK(std::string(select_variant(stages[1], "").name) == "32x32");
  CHECK(std::string(select_variant(stages[1], "8x8").name) == "8x8");
  CHECK(std::string(select_variant(stages[1], "first").name) == "32x32");
  CHECK_THROWS_WITH_AS(
      select_variant(stages[1], "8"),
      "--variant 8: stage 1 (naive) has no such variant; it has 32x32, 8x8", model::Refusal);
  CHECK_THROWS_WITH_AS(
      select_variant(stages[0], "8"),
      "--variant 8: stage 0 (serial) has no variants; leave --variant out", model::Refusal);
}

TEST_CASE("where the GPU and C are known, a variant without a name is the one that suits") {
  std::vector<model::Stage> stages = some_stages();
  model::Variant &large = stages[1].variants[0], &small = stages[1].variants[1];
  large.BM = large.BN = 32;
  small.BM = small.BN = 8;
  small.for_small = true;
  const auto selected = [&](const std::string& name, int side) {
    return select_variant(stages[1], name, *model::find_gpu("H200"), side, side).name;
  };
  CHECK(selected("", 64) == small.name);
  CHECK(selected("", 4096) == large.name);
  CHECK(selected("first", 64) == large.name);
  CHECK(selected("32x32", 64) == large.name);
  CHECK(selected("8x8", 4096) == small.name);
  CHECK_THROWS_AS(selected("8", 64), model::Refusal);
  CHECK_THROWS_AS(select_variant(stages[0], "", *model::find_gpu("H200"), 64, 64), model::Refusal);
}

}  // namespace flags
