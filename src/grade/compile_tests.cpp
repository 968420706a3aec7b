// An answer, or somebody's file, whose compilation takes any time or memory.
#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <string>

#include "testing/program.h"

namespace grade {
namespace {

// The value of each of these takes seconds to work out, and there are many.
const char* const kEndless =
    "  constexpr auto sum = [](int n) {\n"
    "    int all = 0;\n"
    "    for (int i = 0; i < n; ++i) {\n"
    "      for (int k = 0; k < 160; ++k) all += k;\n"
    "    }\n"
    "    return all;\n"
    "  };\n"
    "  constexpr int s0 = sum(200000), s1 = sum(200001), s2 = sum(200002), s3 = sum(200003);\n"
    "  constexpr int s4 = sum(200004), s5 = sum(200005), s6 = sum(200006), s7 = sum(200007);\n";

std::string with_endless_constants(const std::string& file, const std::string& before) {
  std::string text = testing::contents(file);
  return text.insert(text.find(before), kEndless);
}

testing::Output limited(const std::string& settings, const std::string& command) {
  return testing::run(settings + " src/try/limited.sh yours.cu " + command);
}

}  // namespace

TEST_CASE("a constant expression without an end is told as such, by the grader and by make try") {
  const testing::Folder folder;
  folder.write(
      "01-index-and-guard.cu",
      with_endless_constants(
          "exercises/01-index-and-guard/kernel.cu", "  // ---- end of your code"));
  const std::string answer = folder / "01-index-and-guard.cu";
  folder.write("work/none", "");
  const testing::Output graded = testing::run(
      "COMPILE_S=1 BUILD='" + testing::built().string() + "' WORK='" + folder / "work" +
      "' src/grade/grade.sh 1 '" + answer + "' 2>&1");
  CHECK(graded.exit_code == 3);
  CHECK(
      graded.out == answer + ": took too long to compile: more than 1 s; COMPILE_S= allows more\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "work"), {}) == 1);

  folder.write("naive.cu", with_endless_constants("examples/naive.cu", "  float sum = 0;"));
  const testing::Output tried = testing::run(
      "COMPILE_S=1 BUILD='" + testing::built().string() + "' KERNEL='" + folder / "naive.cu" +
      "' src/try/compile.sh '" + folder / "out" + "' 2>&1");
  CHECK(tried.exit_code == 1);
  CHECK(tried.out.find("took too long to compile: more than 1 s") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "out.traced.o"));
}

TEST_CASE("what a compiler needs too much of is told, and nothing of its work is left") {
  const testing::Folder folder;
  const std::string here = "TMPDIR='" + folder.path().string() + "'";
  const testing::Output memory =
      limited(here + " COMPILE_GB=1", "dd if=/dev/zero of=/dev/null bs=2G count=1");
  CHECK(memory.exit_code == 124);
  CHECK(
      memory.err == "yours.cu: needs more memory to compile than 1 GB; COMPILE_GB= allows more\n");
  const testing::Output size = limited(here, "bash -c 'head -c 300M /dev/zero > $TMPDIR/out'");
  CHECK(size.exit_code == 124);
  CHECK(size.err == "yours.cu: is too large after compilation: a file of more than 256 MB\n");
  const testing::Output time = limited(here + " COMPILE_S=1", "bash -c 'while :; do :; done'");
  CHECK(time.exit_code == 124);
  const char* const too_long =
      "yours.cu: took too long to compile: more than 1 s; COMPILE_S= allows more\n";
  CHECK(time.err == too_long);
  // A compiler with several threads uses up its own time before the clock's.
  CHECK(limited(here + " COMPILE_S=1", "bash -c 'kill -XCPU $$'").err == too_long);
  const testing::Output children = limited(here + " COMPILE_S=1", "bash -c 'sleep 7 & wait'");
  CHECK(children.exit_code == 124);
  CHECK(std::filesystem::is_empty(folder.path()));

  const testing::Output other = limited(here, "bash -c 'echo wrong >&2; exit 3'");
  CHECK(other.exit_code == 3);
  CHECK(other.err == "wrong\n");
  CHECK(limited("COMPILE_S=0", "true").err.starts_with("COMPILE_S=0: give a whole number"));
}

TEST_CASE(
    "a sum that begins with whatever its register holds is wrong, where the compiler lets it") {
  const std::string environment = testing::contents(testing::built() / "grade/environment");
  if (environment.find("-ftrivial-auto-var-init") == std::string::npos) return;  // before g++ 12
  const testing::Folder folder;
  std::string answer = testing::contents("exercises/00-vector-add/kernel.cu");
  folder.write(
      "00-vector-add.cu", answer.insert(
                              answer.find("  // ---- end of your code"),
                              "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  float sum;\n"
                              "  if (i < n) sum += x[i] + y[i], z[i] = sum;\n"));
  const testing::Output graded = testing::run(
      "HINT=1 BUILD='" + testing::built().string() + "' src/grade/grade.sh 0 '" +
      folder / "00-vector-add.cu" + "' 2>&1");
  CHECK(graded.exit_code == 1);
  CHECK(graded.out.find("a variable is used before") != std::string::npos);
}

}  // namespace grade
