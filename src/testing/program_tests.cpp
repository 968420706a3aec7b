#include "testing/program.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "testing/environment.h"

namespace testing {

TEST_CASE("a program that a test runs has its exit code, its outputs and its input") {
  const Output output = run("cat; echo \"it's\" >&2; exit 3", "typed\n");
  CHECK(output.exit_code == 3);
  CHECK(output.out == "typed\n");
  CHECK(output.err == "it's\n");
  CHECK(run("echo a; echo b >&2", "").out == "a\n");
}

TEST_CASE("what the user of make has set in the environment does not reach a test's programs") {
  const Variable out("OUT", "/nonexistent"), seed("SEED", "x"), make("MAKEFLAGS", "n");
  const Output output = run("echo \"${OUT-none} ${SEED-none} ${MAKEFLAGS-none}\"");
  CHECK(output.out == "none none none\n");
  CHECK(run("SEED=5 bash -c 'echo $SEED'").out == "5\n");
}

TEST_CASE("a test's folder is no other's, and gone with the object") {
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

TEST_CASE("a variable of the environment is as before when a test is over") {
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
