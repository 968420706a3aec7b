#include "flags/flags.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>

#include "flags/table.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace flags {

bool wants_colour(const Flags& flags, std::FILE* out) {
  if (flags.format == report::Format::markdown) return false;
  const char* no_color = std::getenv("NO_COLOR");
  return !flags.no_color && !(no_color && *no_color) && text::is_terminal(out);
}

report::Explaining explaining(const Flags& flags) {
  return {flags.sections, flags.format == report::Format::markdown, flags.ask ? stdin : nullptr};
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
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  for (std::size_t at = 0; at < stages.size(); ++at) {
    if (parsed.ec == std::errc() && stages[at].number == number) return at;
  }
  refuse_stage(text, "there is no stage " + text::echoed(digits), stages);
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
    const model::Stage& stage, const std::string& name, const model::Gpu& gpu, int M, int N) {
  if (name.empty() && !stage.variants.empty()) return model::suited_variant(stage, gpu, M, N);
  if (name == kFirstVariant && !stage.variants.empty()) return model::first_variant(stage, gpu);
  return select_variant(stage, name);
}

namespace {

void refuse_conflicts_of_matrices(const Flags& flags) {
  if (flags.a.empty() != flags.b.empty()) {
    const bool has_a = !flags.a.empty();
    throw model::Refusal(
        has_a ? "--a " + text::echoed(flags.a) + ": B is missing; give --b B.npy too"
              : "--b " + text::echoed(flags.b) + ": A is missing; give --a A.npy too");
  }
  if (!flags.c.empty() && flags.a.empty()) {
    throw model::Refusal(
        "--c " + text::echoed(flags.c) + ": A and B are missing; give --a A.npy and --b B.npy too");
  }
  if (!flags.a.empty() && (flags.size || flags.m || flags.n || flags.k)) {
    const char* flag = flags.size ? "--size" : flags.m ? "--m" : flags.n ? "--n" : "--k";
    throw model::Refusal(
        std::string(flag) + " and --a: the files determine the size of the matrices; leave " +
        flag + " out");
  }
  if (!flags.a.empty() && flags.data != lab::Data::uniform) {
    throw model::Refusal(
        std::string("--data ") + lab::name_of(flags.data) +
        ": A and B come from files; leave --data out");
  }
  if (!flags.a.empty() && flags.c.empty() && flags.beta != 0) {
    throw model::Refusal("--beta: C is missing; give --c C.npy too, or leave --beta out");
  }
}

// A flag that needs another flag, which was not given.
void refuse_lonely(std::span<const Flag* const> given) {
  const auto is_given = [&](const Flag* flag) {
    return std::find(given.begin(), given.end(), flag) != given.end();
  };
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      if (!flag.belongs_to || !is_given(&flag) || is_given(find_flag(flag.belongs_to))) continue;
      throw model::Refusal(std::string(flag.name) + ": needs " + flag.belongs_to + "; add it");
    }
  }
}

void refuse_conflicts_of_step(const Flags& flags) {
  if (!flags.step) return;
  const char* other = flags.explain                           ? "--explain"
                      : flags.list                            ? "--list"
                      : !flags.out.empty()                    ? "--out"
                      : !flags.ncu.empty()                    ? "--ncu"
                      : flags.format != report::Format::table ? "--format"
                      : flags.device == lab::Device::gpu      ? "--device gpu"
                      : flags.trace == lab::Trace::all        ? "--trace all"
                      : !flags.hazards                        ? "--hazards off"
                      : !flags.until.empty() && flags.frame   ? "--until and --frame"
                                                              : nullptr;
  if (!other) return;
  throw model::Refusal(
      std::string(other) +
      ": does not go with --step, which shows one traced block as text; leave one out");
}

// Each of these requests something different, so only one is allowed.
void refuse_two_requests(const Flags& flags) {
  const std::pair<bool, const char*> requests[] = {
      {flags.list, "--list"},
      {flags.legend, "--legend"},
      {!flags.figures.empty(), "--figures"},
      {!flags.page.empty(), "--page"},
      {!flags.experiment.empty(), "--experiment"},
      {flags.step, "--step"},
      {flags.gpus.has_value(), "--gpus"},
      {!flags.ncu.empty(), "--ncu"},
      {!flags.ncu_units.empty(), "--ncu-units"},
      // Below an experiment's table, too.
      {!flags.ncu_caches.empty() && flags.experiment.empty(), "--ncu-caches"},
      {flags.ncu_metrics, "--ncu-metrics"},
      {flags.ncu_unit_metrics, "--ncu-unit-metrics"},
      {flags.ncu_cache_metrics, "--ncu-cache-metrics"}};
  const model::Gpu* const gpu = model::find_gpu(flags.gpu);
  if (!flags.figures.empty() && gpu != nullptr && !model::has_clock(*gpu)) {
    throw model::Refusal(
        "--gpu " + text::echoed(flags.gpu) +
        ": --figures draws the ladder as it was recorded on an H200; make show draws what a kernel "
        "does on the " +
        gpu->name);
  }
  const char* first = nullptr;
  for (const auto& [given, name] : requests) {
    if (!given) continue;
    if (first) {
      throw model::Refusal(
          std::string(first) + " and " + name + ": they cannot be combined; leave one out");
    }
    first = name;
  }
  if (!flags.ncu_caches.empty()) first = "--ncu-caches";
  if (first && !flags.json.empty()) {
    throw model::Refusal(std::string(first) + " does not use --json; leave --json out");
  }
  const bool compares = !flags.ncu.empty() || !flags.ncu_units.empty() || !flags.ncu_caches.empty();
  // An experiment has its own message.
  const bool has_report = !first || (!flags.experiment.empty() && !compares);
  const char* useless = has_report                                             ? nullptr
                        : flags.explain                                        ? "--explain"
                        : !flags.out.empty() && !compares                      ? "--out"
                        : flags.list && !flags.a.empty()                       ? "--a"
                        : !flags.list && flags.format != report::Format::table ? "--format"
                                                                               : nullptr;
  if (!useless) return;
  throw model::Refusal(
      std::string(first) + " does not use " + useless + "; leave " + useless + " out");
}

// Throws a Refusal if `flags`, set by the flags in `given`, cannot be combined.
void refuse_conflicts(const Flags& flags, std::span<const Flag* const> given) {
  refuse_conflicts_of_matrices(flags);
  refuse_lonely(given);
  refuse_conflicts_of_step(flags);
  refuse_two_requests(flags);
  if (flags.format == report::Format::markdown && !flags.explain) {
    throw model::Refusal("--format markdown: only --explain writes it; give --explain too");
  }
  if (flags.wide && (flags.explain || flags.format != report::Format::table)) {
    throw model::Refusal(
        std::string("--wide and ") + (flags.explain ? "--explain" : "--format") +
        ": only the table has more columns; leave one of them out");
  }
  if (flags.trace == lab::Trace::none &&
      (flags.explain || flags.step || !flags.experiment.empty() || !flags.ncu.empty() ||
       !flags.ncu_units.empty())) {
    throw model::Refusal(
        "--trace none: only the table, JSON and CSV do without counts; leave it out");
  }
  if (flags.ask && flags.format != report::Format::table) {
    throw model::Refusal("--ask: it cannot be combined with --format; leave one of them out");
  }
  if (!flags.variant.empty() && flags.variant != kFirstVariant && flags.stage.empty()) {
    throw model::Refusal(
        "--variant " + text::echoed(flags.variant) +
        ": the stage is missing; give it too, for example --stage 4");
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
  std::vector<const Flag*> given;
  for (int at = 1; at < argc; ++at) {
    const std::string argument = argv[at];
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const Flag* flag = find_flag(name);
    if (flag == nullptr) refuse_unknown(name);
    Value value{name, "", flag->hint};
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
    given.push_back(flag);
  }
  const bool beta_given = std::find(given.begin(), given.end(), find_flag("--beta")) != given.end();
  if (!flags.c.empty() && !beta_given) flags.beta = 1;
  refuse_conflicts(flags, given);
  return flags;
}

}  // namespace flags
