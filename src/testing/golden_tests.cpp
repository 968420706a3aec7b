// The output of each command in golden_commands.txt: NAME COMMAND. `try SAMPLE FLAGS` prints what a
// sample of make try says on stderr.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "testing/golden.h"
#include "testing/program.h"

namespace testing {

TEST_CASE("each of the listed commands prints what its golden file has") {
  const std::vector<std::string> commands = lines_of(contents("src/testing/golden_commands.txt"));
  REQUIRE(commands.size() > 50);
  std::vector<std::string> outputs(commands.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Folder folder;
    const std::string command = commands[i].substr(commands[i].find(' ') + 1);
    outputs[i] =
        run("export COLUMNS=100 NO_COLOR=1; exec 2>&1; root=$PWD; built='" + built().string() +
            "'; cd '" + folder.path().string() + "'\ngemm_steps() { (exec -a gemm_steps '" +
            std::filesystem::absolute(program()).string() +
            "' \"$@\") || echo \"exit code $?\"; }\n" +
            "try() { echo \"$*\"; (cd \"$root\" && \"$built/try/$1\" \"${@:2}\" 2>&1 "
            ">/dev/null) || echo \"exit code $?\"; }\n" +
            command)
            .out;
  }
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::size_t space = commands[i].find(' ');
    compare_with_golden(
        commands[i].substr(0, space), {{commands[i].substr(space + 1), outputs[i]}});
  }
}

}  // namespace testing
