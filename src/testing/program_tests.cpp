#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "testing/program.h"

namespace testing {

TEST_CASE("a test gets a program's exit code and outputs, and gives it its input") {
  const Output output = run("cat; echo \"it's\" >&2; exit 3", "typed\n");
  CHECK(output.exit_code == 3);
  CHECK(output.out == "typed\n");
  CHECK(output.err == "it's\n");
  CHECK(run("echo a; echo b >&2", "").out == "a\n");
}

TEST_CASE("variables that a user of make has set do not reach a test's programs") {
  const Variable out("OUT", "/nonexistent"), seed("SEED", "x"), make("MAKEFLAGS", "n");
  const Output output = run("echo \"${OUT-none} ${SEED-none} ${MAKEFLAGS-none}\"");
  CHECK(output.out == "none none none\n");
  CHECK(run("SEED=5 bash -c 'echo $SEED'").out == "5\n");
}

TEST_CASE("a test's folder is not shared, and is removed with its object") {
  std::filesystem::path gone;
  {
    const Folder folder, other;
    gone = folder.path();
    CHECK(folder.path() != other.path());
    folder.write("deep/er/file", "text");
    CHECK(contents(folder / "deep/er/file") == "text");
  }
  CHECK(!std::filesystem::exists(gone));
}

TEST_CASE("an environment variable has its old value after a test") {
  const auto value = [] { return run("echo \"${GEMM_STEPS_TESTED-none}\"").out; };
  CHECK(value() == "none\n");
  {
    const Variable variable("GEMM_STEPS_TESTED", "a");
    const Variable again("GEMM_STEPS_TESTED", nullptr);
    CHECK(value() == "none\n");
  }
  CHECK(value() == "none\n");
}

}  // namespace testing
