#include "cluster/processes.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testing/environment.h"
#include "testing/folder.h"
#include "testing/printed.h"
#include "testing/program.h"

namespace cluster {

namespace {

using testing::contains;
using testing::line_with;

// Open MPI starts more processes than there are cores, also as root, if it is told so. A test that
// would hang fails.
const std::string kMpirun =
    "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
    "OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "
    "OMP_WAIT_POLICY=passive\n"
    "timeout 20 mpirun ";
constexpr double kSoon = 10;  // seconds

// Empty if several processes can be started.
const std::string& why_not() {
  static const std::string reason = [] {
    const testing::Output there = testing::run("command -v mpirun");
    if (there.exit_code != 0) return "skipped: there is no mpirun; install openmpi-bin";
    const testing::Output one = testing::run(
        "OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=2 timeout 20 " + testing::program() +
        " --gpus 2 --size 8 --stage 0");
    if (contains(one.err, "without MPI")) {
      return "skipped: the program was built without MPI; install libopenmpi-dev and build again";
    }
    return "";
  }();
  return reason;
}

struct Run {
  testing::Output output;
  double seconds;
};

Run mpirun(const std::string& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const testing::Output output = testing::run(kMpirun + arguments);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return {output, time.count()};
}

int count(const std::string& text, const std::string& words) {
  int times = 0;
  for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; at += words.size()) ++times;
  return times;
}

// What is printed below the ladder.
std::string section(const std::string& out) {
  const std::size_t at = out.find("More than one GPU");
  return at == out.npos ? "" : out.substr(at);
}

std::string without_returns(std::string text) {
  std::erase(text, '\r');
  return text;
}

void check_ended(const Run& run) {
  CAPTURE(run.output.out);
  CAPTURE(run.output.err);
  CHECK(run.output.exit_code != 0);
  CHECK(run.output.exit_code != 124);  // timeout's
  CHECK(run.seconds < kSoon);
  CHECK(section(run.output.out).empty());
}

const std::string kSmall = " --device cpu --size 64 --stage 0 --no-color";

}  // namespace

TEST_CASE("this process alone shares with nobody, and its values are its own") {
  Processes& alone = Processes::all();
  REQUIRE(alone.size() == 1);
  CHECK(alone.is_first());
  CHECK(alone.rank_on_machine() == 0);
  CHECK(alone.collect(7) == std::vector<double>{7});
  int value = 5;
  alone.share(&value, sizeof value);
  alone.wait_for_all();
  alone.abort(9);
  CHECK(value == 5);
  CHECK_NOTHROW(require_equal(alone, "any command"));
}

TEST_CASE("a process was started by mpirun if its variables say that there are several") {
  const testing::Variable no_slurm("PMI_SIZE", nullptr);
  {
    const testing::Variable none("OMPI_COMM_WORLD_SIZE", nullptr);
    CHECK_FALSE(started_by_mpirun());
    const testing::Variable mpich("PMI_SIZE", "4");
    CHECK(started_by_mpirun());
  }
  for (const char* size : {"2", "16"}) {
    const testing::Variable several("OMPI_COMM_WORLD_SIZE", size);
    CHECK(started_by_mpirun());
  }
  for (const char* size : {"1", "0", "", "many"}) {
    const testing::Variable alone("OMPI_COMM_WORLD_SIZE", size);
    CHECK_FALSE(started_by_mpirun());
  }
}

TEST_CASE("four processes print what one prints for four GPUs: result, counts and model") {
  if (!why_not().empty()) {
    MESSAGE(why_not());
    return;
  }
  for (const std::string arguments :
       {" --device cpu --size 200 --stage 0 --no-color --gpus 4 --resident host",
        " --device cpu --m 35 --n 79 --k 19 --stage 0 --no-color --gpus 4 --grid 4x1 --panel 5 "
        "--beta 2"}) {
    CAPTURE(arguments);
    const testing::Output one = testing::run(testing::program() + arguments);
    const Run four = mpirun("-n 4 " + testing::program() + arguments);
    CAPTURE(four.output.err);
    CHECK(four.output.exit_code == 0);
    const std::string said = without_returns(four.output.out);
    CHECK(count(said, "More than one GPU") == 1);
    CHECK(count(said, "problem ") == 1);
    CHECK(contains(section(one.out), "equal"));
    CHECK(section(said) == section(one.out));
  }
}

TEST_CASE("mpirun's processes are the GPUs if --gpus is left out") {
  if (!why_not().empty()) return;
  const Run run = mpirun("-n 3 " + testing::program() + kSmall);
  CHECK(run.output.exit_code == 0);
  CHECK(contains(line_with(run.output.out, "distributed"), "1 x 3"));
}

TEST_CASE("processes of different builds end with a sentence that says so") {
  if (!why_not().empty()) return;
  const testing::Folder folder;
  const std::string other = folder / "gemm_steps";
  std::filesystem::copy_file(testing::program(), other);
  std::ofstream(other, std::ios::app) << "x";
  const Run run = mpirun("-n 1 " + testing::program() + kSmall + " : -n 1 " + other + kSmall);
  check_ended(run);
  CHECK(contains(run.output.err, "process 1 runs another build of gemm_steps than process 0"));
}

TEST_CASE("processes with different commands end with a sentence that says so") {
  if (!why_not().empty()) return;
  const std::string program = testing::program() + kSmall;
  const Run run = mpirun("-n 2 " + program + " : -n 1 " + program + " --seed 2");
  check_ended(run);
  CHECK(contains(run.output.err, "process 2 was started with other flags than process 0"));
}

TEST_CASE("a process that refuses its command ends the others, too") {
  if (!why_not().empty()) return;
  const std::string program = testing::program() + kSmall;
  const Run run = mpirun("-n 1 " + program + " : -n 1 " + program + " --frobnicate");
  check_ended(run);
  CHECK(contains(run.output.err, "gemm_steps: --frobnicate: no such flag"));
}

TEST_CASE("--gpus must be as many as mpirun's processes") {
  if (!why_not().empty()) return;
  const Run run = mpirun("-n 2 " + testing::program() + kSmall + " --gpus 3");
  check_ended(run);
  CHECK(contains(run.output.err, "--gpus 3: mpirun started 2 processes"));
}

TEST_CASE("a process without enough memory ends the others, too") {
  if (!why_not().empty()) return;
  const std::string command =
      testing::program() + " --device cpu --m 1 --n 12000 --k 11000 --stage 0";
  const Run run =
      mpirun("-n 1 " + command + " : -n 1 bash -c 'ulimit -v 500000; exec " + command + "'");
  check_ended(run);
  CHECK(contains(run.output.err, "gemm_steps: there is not enough memory"));
}

// The ladder of such a product takes a minute.
TEST_CASE("if a process is killed, the others end soon, say why, and leave no file half-written") {
  if (!why_not().empty()) return;
  if (testing::run("command -v pgrep ps").exit_code != 0) {
    MESSAGE("skipped: pgrep or ps is missing; install procps");
    return;
  }
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const testing::Folder folder;
    const std::string command = testing::program() + " --device cpu --size 1016 --gpus 2 " +
                                "--timeline '" + folder / "timeline.svg" + "'";
    const Run run = mpirun(
        "-n 2 " + command + " >'" + folder / "out" + "' &\n" +
        "limited=$!\n"
        "for try in {1..100}; do\n"
        "  set -- $(pgrep -P \"$(pgrep -P $limited)\" 2> /dev/null)\n"
        "  [ $# = 2 ] && break\n"
        "  sleep 0.05\n"
        "done\n"
        "sleep 0.8\n"
        "echo killing one of $#\n"
        "kill -9 $" +
        std::to_string(rank + 1) +
        "\n"
        "wait $limited\n"
        "code=$?\n"
        "for try in {1..50}; do\n"
        "  left=$(ps -o stat= -p $1,$2 | grep -vc Z)\n"
        "  [ $left = 0 ] && break\n"
        "  sleep 0.1\n"
        "done\n"
        "echo $left are left\n"
        "exit $code");
    check_ended(run);
    CHECK(run.output.out == "killing one of 2\n0 are left\n");
    const std::string survivor = std::to_string(1 - rank);
    CHECK(
        count(
            run.output.err, "gemm_steps: process " + survivor + " ends, since another has ended") ==
        1);
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      files.push_back(file.path().filename());
    }
    CHECK(files == std::vector<std::string>{"out"});
  }
}

}  // namespace cluster
