// The output of each command in golden_commands.txt: NAME COMMAND. `try SAMPLE FLAGS` prints what a
// sample of make try says on stderr, and `shows SAMPLE FLAGS` all that it prints, without the
// legend and the size of errors, which may depend on the order of blocks.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "testing/golden.h"
#include "testing/program.h"

namespace testing {

TEST_CASE("each of the listed commands prints what its golden file has") {
  const std::vector<std::string> commands = lines_of(contents("src/testing/golden_commands.txt"));
  REQUIRE(commands.size() > 50);
  std::vector<std::string> outputs(commands.size());
  const std::string begin = R"(
export COLUMNS=100 NO_COLOR=1; exec 2>&1; root=$PWD; program=$(realpath "$program"); cd "$folder"
gemm_steps() { (exec -a gemm_steps "$program" "$@") || echo "exit code $?"; }
try() { echo "$*"; (cd "$root" && "$built/try/$1" "${@:2}" 2>&1 >/dev/null) || echo "exit code $?"; }
shows() {
  echo "$*"
  (cd "$root" && "$built/try/$1" --device cpu "${@:2}" 2>&1 || echo "exit code $?") |
    sed -E '/^(GPU|~|loads|per request|launches|ok|--legend) /d; s/[0-9]e-[0-9]+  ok/E  ok/'
}
)";
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Folder folder;
    outputs[i] =
        run("built='" + built().string() + "'; program='" + program() + "'; folder='" +
            folder.path().string() + "'" + begin + commands[i].substr(commands[i].find(' ') + 1))
            .out;
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::size_t space = commands[i].find(' ');
    compare_with_golden(
        commands[i].substr(0, space), {{commands[i].substr(space + 1), outputs[i]}});
  }
}

}  // namespace testing
