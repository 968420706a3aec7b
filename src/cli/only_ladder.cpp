// build/ladder, the program that `make run` builds first, only prints the table.
#include <optional>

#include "cli/others.h"

namespace cli {

std::optional<int> run_other(
    const flags::Flags&, const std::string&, const model::StageTable&,
    const std::function<int()>&) {
  return std::nullopt;
}

std::string ncu_counts(const flags::Flags&) {
  return "";
}

bool print_other(const flags::Flags&, const lab::Run&, text::Style, const std::string&) {
  return true;
}

void end_others(int) {}

}  // namespace cli
