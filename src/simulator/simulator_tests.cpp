// Tests of the simulator as a product of its own.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "testing/program.h"

namespace simulator {

TEST_CASE("a program that links the simulator alone traces its own kernel") {
  const testing::Output output = testing::run(testing::built() / "sample");
  CHECK(output.exit_code == 0);
  // A row of 100 floats is 12.5 sectors, so every second row begins in the middle of one. Each lane
  // stores to a sector of its own.
  CHECK(
      output.out ==
      "loads  400 requests, 1450 sectors\nstores 400 requests, 10000 sectors\n0 hazards\n");
}

TEST_CASE("the simulator knows nothing of the lesson") {
  for (const auto& entry : std::filesystem::recursive_directory_iterator("src/simulator")) {
    const std::string file = entry.path().filename().string();
    if (!entry.is_regular_file() || file.find("_tests.") != file.npos) continue;
    if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
    const std::string text = testing::contents(entry.path().string());
    for (const char* word : {"gemm_steps", "exercises/", "model/stage.h"}) {
      CHECK_MESSAGE(text.find(word) == text.npos, entry.path().string(), " has ", word);
    }
  }
}

}  // namespace simulator
