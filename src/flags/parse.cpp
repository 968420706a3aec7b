#include <algorithm>
#include <numeric>
#include <string_view>

#include "flags/flags.h"
#include "flags/table.h"
#include "flags/together.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace flags {

namespace {

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
