// The program in difficult conditions: outputs that fail, inputs that never end, limits of the
// system.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "testing/fuzz.h"
#include "testing/program.h"

namespace cli {

namespace {

using testing::contains, testing::Folder, testing::Output;

// Below the note that there is no GPU, stderr has one sentence.
void check_refused(const Output& output, const std::string& because) {
  CAPTURE(output.err);
  CHECK(output.exit_code == 2);
  std::vector<std::string> lines = testing::lines_of(output.err);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("No GPU"); });
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines[0], because));
  CHECK(testing::is_sentence(lines[0]));
}

}  // namespace

TEST_CASE("an output that cannot be written ends with one sentence, in every format") {
  for (const std::string arguments :
       {"--stage 1 --size 16", "--stage 1 --size 16 --format json",
        "--stage 1 --size 16 --format csv", "--stage 1 --size 16 --explain",
        "--stage 1 --size 16 --explain --format markdown", "--ask --stage 1 --size 16", "--help",
        "--version", "--list", "--list --format json", "--ncu-metrics counts", "--experiment list",
        "--experiment coarsening --size 16", "--step --print"}) {
    CAPTURE(arguments);
    check_refused(testing::gemm_steps(arguments + " >/dev/full"), "(No space left on device)");
    check_refused(testing::gemm_steps(arguments + " >&-"), "(it is closed)");
  }
}

TEST_CASE("a closed pipe ends the program quietly, or with one sentence if SIGPIPE is ignored") {
  const std::string late = "(sleep 0.2; " + testing::program() + " --help; echo $? >&2) | true";
  CHECK(testing::run(late).err == "141\n");
  const Output ignored = testing::run("trap '' PIPE; " + late);
  CHECK(
      ignored.err ==
      "gemm_steps: stdout: not all of the output could be written (Broken pipe); print to another "
      "place\n2\n");
}

TEST_CASE("the program's files do not take the number of a closed standard stream") {
  const Folder folder;
  const std::string out = folder / "C.npy";
  const std::string arguments = " --stage 1 --size 16 --out " + out;
  for (const std::string closed : {"<&- >/dev/null", "2>&- >/dev/null", ">&-", "<&- >&- 2>&-"}) {
    CAPTURE(closed);
    std::filesystem::remove(out);
    testing::run(testing::program() + arguments + " " + closed);
    REQUIRE(std::filesystem::exists(out));
    CHECK(std::filesystem::file_size(out) == 128 + 4 * 16 * 16);
  }
}

TEST_CASE("a file that receives the program's output is not replaced") {
  const Folder folder;
  const std::string out = folder / "x";
  check_refused(
      testing::gemm_steps("--stage 1 --size 16 --out " + out + " >" + out),
      "(this program prints there)");
}

TEST_CASE("a limit on file size leaves no partial file and does not change an old one") {
  const Folder folder;
  folder.write("C.npy", "before");
  const auto limited = [&](const std::string& arguments) {
    return testing::run(
        "cd " + folder.path().string() + "; ulimit -f 1; exec " +
        std::filesystem::absolute(testing::program()).string() + " " + arguments);
  };
  check_refused(limited("--stage 1 --size 64 --out C.npy"), "C.npy: cannot be written (File too");
  check_refused(limited("--list --format json >list.json"), "(File too large)");
  CHECK(testing::contents(folder / "C.npy") == "before");
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    CHECK_FALSE(contains(entry.path().string(), ".partial"));
  }
}

TEST_CASE("small stacks, many threads and a foreign locale do not change the output") {
  const std::string run = testing::program() + " --stage 3 --size 48 --alpha 1.5 --format csv";
  const std::string row = testing::run(run).out;
  REQUIRE(contains(row, "1.5"));
  for (const std::string before :
       {"ulimit -s 256; ", "ulimit -s 1024; ", "OMP_NUM_THREADS=1000 ", "OMP_NUM_THREADS=abc ",
        "OMP_NUM_THREADS=0 ", "LC_ALL=de_DE.UTF-8 ", "env -i "}) {
    CAPTURE(before);
    const Output output = testing::run(before + run);
    CHECK(output.exit_code == 0);
    CHECK(testing::line_with(output.out, "shared-memory") != "");
  }
  check_refused(testing::run("OMP_STACKSIZE=16k " + run), "OMP_STACKSIZE=16k: the threads need");
}

TEST_CASE("on a terminal, long work shows the stage at work and the time left") {
  if (testing::there_is_no_terminal()) return;
  if (testing::run("command -v script").exit_code != 0) {
    MESSAGE("skipped: script is missing; install bsdutils");
    return;
  }
  const std::string out = testing::run(
                              "TERM=xterm script -qec '" + testing::program() +
                              " --stage 5-6 --size 256 --trace all' /dev/null")
                              .out;
  CHECK(contains(out, "2D thread tiling [#"));
  CHECK(contains(out, "vectorized [##########"));
  CHECK(contains(out, " s left"));
}

}  // namespace cli
