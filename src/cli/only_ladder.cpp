// build/ladder, the program that `make run` builds first, only prints the table.
#include <optional>

#include "cli/others.h"
#include "show/report/table.h"

namespace cli {

std::optional<int> run_other(
    const flags::Flags&, const std::string&, const model::StageTable&,
    const std::function<int()>&) {
  return std::nullopt;
}

std::string ncu_counts(const flags::Flags&) {
  return "";
}

bool print(const flags::Flags& flags, const lab::Run& run, const std::string&) {
  report::print_table(stdout, run, {flags::wants_colour(flags, stdout)}, false);
  return true;
}

void end_others(int) {}

}  // namespace cli
