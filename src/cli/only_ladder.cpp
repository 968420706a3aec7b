// build/ladder, the program that `make run` builds first, has no other parts.
#include <optional>

#include "cli/others.h"

namespace cli {

std::optional<int> run_other(
    const flags::Flags&, const std::string&, const model::StageTable&,
    const std::function<int()>&) {
  return std::nullopt;
}

void end_others(int) {}

}  // namespace cli
