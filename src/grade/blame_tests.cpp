#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/program.h"

namespace grade {

namespace fs = std::filesystem;

namespace {

// Whether src/grade/blame.awk lets a hint say this of that answer to that solution.
bool may_be_said(const std::string& said, const std::string& answer, const std::string& solution) {
  const fs::path folder = fs::temp_directory_path() / ("blame_tests_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "answer") << answer;
  std::ofstream(folder / "solution") << solution;
  const testing::Output out = testing::run(
      "diff '" + (folder / "answer").string() + "' '" + (folder / "solution").string() +
      "' | awk -v said='" + said + "' -f src/grade/blame.awk - '" + (folder / "answer").string() +
      "' 2>&1");
  fs::remove_all(folder);
  return out.out.empty();
}

}  // namespace

TEST_CASE(
    "a hint may name a line that the solution changes, or that depends on one, and no other") {
  const std::string answer =
      "  const int row = threadIdx.x;\n"
      "  const int first = 4 * row;\n"
      "  const int col = threadIdx.y;\n"
      "  const float a = A[first];\n"
      "  const float b = B[col];\n"
      "  C[0] = a * b;\n";
  const std::string solution =
      "  const int row = threadIdx.y;\n" + answer.substr(answer.find('\n') + 1);
  CHECK(may_be_said("line 1: the index", answer, solution));
  CHECK(may_be_said("line 4: the load of A", answer, solution));
  CHECK_FALSE(may_be_said("line 5: the load of B", answer, solution));
  CHECK_FALSE(may_be_said("thread (0, 0) loads on line 5", answer, solution));
  CHECK(may_be_said("stores on line 5 and loads on line 4", answer, solution));
  CHECK(may_be_said("no line is known", answer, solution));
}

TEST_CASE(
    "what stands under a condition that the solution changes may be named, what follows not") {
  const std::string answer =
      "  if (thread == 0) {\n"
      "    As[thread] = A[thread];\n"
      "  }\n"
      "  const float b = B[thread];\n";
  const std::string solution = "  if (thread < 32) {\n" + answer.substr(answer.find('\n') + 1);
  CHECK(may_be_said("line 2: the load of A", answer, solution));
  CHECK_FALSE(may_be_said("line 4: the load of B", answer, solution));
}

TEST_CASE("a guard that is missing explains what happens behind it, and a barrier a race") {
  const std::string answer = "  const int i = threadIdx.x;\n  z[i] = x[i];\n  y[i] = z[0];\n";
  const std::string guarded =
      "  const int i = threadIdx.x;\n  if (i >= n) return;\n  z[i] = x[i];\n  y[i] = z[0];\n";
  const std::string ordered =
      "  const int i = threadIdx.x;\n  z[i] = x[i];\n  __syncthreads();\n  y[i] = z[0];\n";
  CHECK(may_be_said("line 2: thread (5, 0)", answer, guarded));
  CHECK_FALSE(may_be_said("line 1: thread (5, 0)", answer, guarded));
  CHECK(may_be_said("race on z: stores on line 2 and loads on line 3", answer, ordered));
  CHECK_FALSE(may_be_said("line 2: the load of x", answer, ordered));
}

}  // namespace grade
