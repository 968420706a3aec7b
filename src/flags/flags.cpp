#include "flags/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>

#include "flags/table.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace flags {

bool wants_colour(const Flags& flags, std::FILE* out) {
  if (flags.format == Format::markdown) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return !flags.no_color && !(no_color && *no_color) && text::is_terminal(out);
}

Explaining explaining(const Flags& flags) {
  return {flags.sections, flags.format == Format::markdown, flags.ask ? stdin : nullptr};
}

namespace {

// Without case, blanks and dashes, so that names need no quotes.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    const bool capital = letter >= 'A' && letter <= 'Z';
    if (letter != ' ' && letter != '-') plain += capital ? char(letter - 'A' + 'a') : letter;
  }
  return plain;
}

[[noreturn]] void refuse_stage(
    const std::string& text, const std::string& why, std::span<const model::Stage> stages) {
  std::string sentence = "--stage " + text::echoed(text) + ": " + why + "; the stages are ";
  for (const model::Stage& stage : stages) {
    sentence +=
        (&stage == stages.data() ? "" : ", ") + std::to_string(stage.number) + " " + stage.name;
  }
  throw model::Refusal(sentence);
}

// The position in the table of the stage with that number, given in digits.
std::size_t numbered(
    const std::string& digits, const std::string& text, std::span<const model::Stage> stages) {
  int number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const model::Stage* const stage = model::find_stage(stages, number);
  if (stage == nullptr) refuse_stage(text, "there is no stage " + text::echoed(digits), stages);
  return stage - stages.data();
}

}  // namespace

std::vector<const model::Stage*> select_stages(
    const std::string& text, std::span<const model::Stage> stages) {
  std::vector<const model::Stage*> selected;
  const auto add = [&](std::size_t first, std::size_t last) {
    for (std::size_t at = first; at <= last; ++at) selected.push_back(&stages[at]);
    return selected;
  };
  if (text.empty()) return stages.empty() ? selected : add(0, stages.size() - 1);
  if (const std::vector<std::string> parts = split(text, ','); parts.size() > 1) {
    if (std::ranges::count(parts, "") > 0) refuse_stage(text, "a stage is missing", stages);
    for (const std::string& part : parts) {
      std::ranges::copy(select_stages(part, stages), std::back_inserter(selected));
    }
    return selected;
  }

  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::string from = text.substr(0, dash);
  const std::string to = dash < text.size() ? text.substr(dash + 1) : from;
  const bool to_the_last = dash + 1 == text.size();
  if (all_digits(from) && (to_the_last || all_digits(to))) {
    const std::size_t first = numbered(from, text, stages);
    const std::size_t last = to_the_last ? stages.size() - 1 : numbered(to, text, stages);
    if (first > last) {
      throw model::Refusal(
          "--stage " + text::echoed(text) + ": the range runs backwards; write --stage " +
          text::echoed(to + "-" + from));
    }
    return add(first, last);
  }

  const std::string wanted = plain_name(text);
  const bool is_word = !wanted.empty() && !all_digits(wanted);
  for (const model::Stage& stage : stages) {
    const std::string name = plain_name(stage.name);
    if (name == wanted) return {&stage};
    if (is_word && name.starts_with(wanted)) selected.push_back(&stage);
  }
  if (selected.empty()) refuse_stage(text, "there is no such stage", stages);
  if (selected.size() > 1) refuse_stage(text, "more than one stage begins with this", stages);
  return selected;
}

const model::Variant& select_variant(const model::Stage& stage, const std::string& name) {
  std::string names;
  for (const model::Variant& variant : stage.variants) {
    if (name.empty() || name == kFirstVariant || name == variant.name) return variant;
    names += (names.empty() ? "" : ", ") + std::string(variant.name);
  }
  const std::string stage_name = "stage " + std::to_string(stage.number) + " (" + stage.name + ")";
  throw model::Refusal(
      "--variant " + text::echoed(name) + ": " + stage_name + " has " +
      (names.empty() ? "no variants; leave --variant out" : "no such variant; it has " + names));
}

const model::Variant& select_variant(
    const model::Stage& stage, const std::string& name, const model::Gpu& gpu, int M, int N,
    int K) {
  if (name.empty() && !stage.variants.empty()) return model::suited_variant(stage, gpu, M, N, K);
  if (name == kFirstVariant && !stage.variants.empty()) return model::first_variant(stage, gpu);
  return select_variant(stage, name);
}

namespace {

// The flags, with the last value of each that was given.
struct Given {
  const Flags& flags;
  std::map<std::string_view, std::string> values;  // by the flag's name

  // "--format", or with a value: "--device gpu"
  bool has(std::string_view wanted) const {
    const std::size_t blank = std::min(wanted.find(' '), wanted.size());
    const Flag& flag = *find_flag(wanted.substr(0, blank));
    const auto given = values.find(flag.name);
    if (blank < wanted.size()) {
      return given != values.end() && given->second == wanted.substr(blank + 1);
    }
    return flag.is_used ? flag.is_used(flags) : given != values.end();
  }
};

std::string replaced(std::string text, std::string_view word, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += by.size()) {
    text.replace(at, word.size(), by);
  }
  return text;
}

void check_rule(const Rule& rule, const Given& given) {
  const auto has = [&](std::string_view flag) { return given.has(flag); };
  const std::vector<std::string> all = split(rule.given, ','), others = split(rule.others, ',');
  if (!std::ranges::all_of(all, has)) return;
  const auto other = std::ranges::find_if(others, has);
  if ((other != others.end()) == (rule.demand == kNeeds)) return;
  const std::string flag = split(all.front(), ' ').front();
  std::string sentence = replaced(rule.message, "{flag}", flag);
  if (other != others.end()) sentence = replaced(sentence, "{other}", *other);
  const std::string& value = given.values.at(flag);
  throw model::Refusal(
      replaced(sentence, "{typed}", value.empty() ? flag : flag + " " + text::echoed(value)));
}

// A file that is written must be no other file of the flags. C may be computed in place, as BLAS
// does.
void refuse_one_file_for_two(const Given& given) {
  constexpr std::string_view kFiles[] = {"--a",   "--b",    "--c",    "--script", "--ncu",
                                         "--out", "--json", "--page", "--figures"};
  const auto* const first_written = std::ranges::find(kFiles, "--out");
  std::map<std::filesystem::path, std::string_view> named;
  for (const std::string_view& flag : kFiles) {
    const auto value = given.values.find(flag);
    if (value == given.values.end()) continue;
    std::error_code none;
    const std::filesystem::path file =
        std::filesystem::weakly_canonical(std::filesystem::absolute(value->second, none), none);
    if (file.empty() || std::filesystem::is_character_file(file, none)) continue;
    const auto [other, is_new] = named.emplace(file, flag);
    if (&flag < first_written) other->second = flag;
    if (is_new || &flag < first_written || (flag == "--out" && other->second == "--c")) continue;
    throw model::Refusal(
        std::string(flag) + " " + text::echoed(value->second) + ": that is also the file of " +
        std::string(other->second) + "; give another one");
  }
}

// Throws a Refusal if the flags cannot be combined.
void refuse_conflicts(const Given& given) {
  refuse_one_file_for_two(given);
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      const std::string first = section.flags.front().name;
      if (!section.of_first || !given.has(flag.name) || given.has(first)) continue;
      throw model::Refusal(std::string(flag.name) + ": needs " + first + "; add it");
    }
  }
  for (const Rule& rule : rules()) check_rule(rule, given);
  // Each asks for output of its own. Below an experiment, ncu's counts are printed, too.
  const char* request = nullptr;
  for (const char* flag :
       {"--list", "--experiment", "--step", "--gpus", "--legend", "--ncu", "--ncu-metrics",
        "--figures", "--page"}) {
    const bool is_beside = flag == std::string_view("--ncu") && given.has("--experiment");
    if (is_beside || !given.has(flag)) continue;
    if (request) {
      throw model::Refusal(
          request + std::string(" and ") + flag + ": they cannot be combined; leave one out");
    }
    request = flag;
  }
}

// The fewest letters to insert, remove or replace to turn `a` into `b` (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

[[noreturn]] void refuse_unknown(const std::string& flag) {
  if (flag.empty() || flag[0] != '-') {
    const std::string shown = flag.empty() ? "\"\"" : text::echoed(flag);
    throw model::Refusal(
        shown + ": not a flag; for a stage write --stage 5, --help lists the flags");
  }
  const char* nearest = "";
  for (const Section& section : sections()) {
    for (const Flag& known : section.flags) {
      if (distance(flag, known.name) < distance(flag, nearest)) nearest = known.name;
    }
  }
  // At most two letters differ, and more than half are right. A worse guess does not help.
  const std::size_t apart = distance(flag, nearest);
  const bool alike = apart <= 2 && 2 * apart + 2 < std::string_view(nearest).size();
  throw model::Refusal(
      text::echoed(flag) + ": no such flag; " +
      (alike ? std::string("did you mean ") + nearest + "?"
             : std::string("--help lists the flags")));
}

}  // namespace

Flags parse_flags(int argc, char** argv) {
  Flags flags;
  Given given{flags, {}};
  for (int at = 1; at < argc; ++at) {
    const std::string argument = argv[at];
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const Flag* flag = find_flag(name);
    if (flag == nullptr) refuse_unknown(name);
    Value value{name, "", flag->hint, flag->value ? flag->value : ""};
    if (equals < argument.size()) {
      if (!flag->value)
        throw model::Refusal(text::echoed(argument) + ": takes no value; write " + name);
      value.text = argument.substr(equals + 1);
    } else if (flag->value) {
      const bool missing = at + 1 == argc || std::string_view(argv[at + 1]).starts_with("--");
      if (missing) throw model::Refusal(name + ": the value is missing; " + value.hint);
      value.text = argv[++at];
    }
    flag->set(flags, value);
    given.values[flag->name] = value.text;
  }
  if (!flags.c.empty() && !given.values.contains("--beta")) flags.beta = 1;
  refuse_conflicts(given);
  return flags;
}

}  // namespace flags
