// Outputs that are compared as text: with src/testing/golden/NAME.txt. `make goldens` writes these
// files anew, and their differences are read before they are committed.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "testing/program.h"

namespace testing {

using TitledText = std::pair<std::string, std::string>;

// Each text stands below its title. Of what varies (times, dates, this machine), only the kind is
// kept.
inline void compare_with_golden(const std::string& name, const std::vector<TitledText>& outputs) {
  std::string text;
  for (const auto& [title, output] : outputs) text += "==== " + title + "\n" + output + "\n";
  const std::string file = "src/testing/golden/" + name + ".txt";
  const std::string without_times = "set -o pipefail; sed -E -f src/testing/varying.sed | ";
  if (std::getenv("GEMM_STEPS_WRITES_GOLDENS") != nullptr) {
    const Output wrote = run(
        without_times + "cat > '" + file + ".new' && mv '" + file + ".new' '" + file + "'", text);
    REQUIRE_MESSAGE(wrote.exit_code == 0, wrote.err);
    return;
  }
  const Output same = run(without_times + "diff -U1 '" + file + "' - | head -n 40", text);
  CHECK_MESSAGE(
      same.exit_code == 0, "not as before; if it should be so, make goldens writes it:\n", same.out,
      same.err);
}

}  // namespace testing
