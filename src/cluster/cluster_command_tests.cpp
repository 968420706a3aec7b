#include "cluster/cluster_command.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "cluster/devices.h"
#include "testing/program.h"

namespace cluster {

namespace {

using testing::contains;
using testing::line_with;
using testing::words_of;

const std::string kPlayed = "--device cpu --no-color --stage 0 ";

// Runs it on GPUs that the CPU plays, and checks the result and every device's counts.
std::string check_right(const std::string& arguments, int gpus) {
  CAPTURE(arguments);
  const testing::Output output = testing::gemm_steps(kPlayed + arguments);
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  CHECK(output.err == "");
  const std::string row = line_with(
      output.out, contains(arguments, "--resident host") ? "from the host  " : "distributed  ");
  CHECK(words_of(row).back() == "ok");
  int counted = 0;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string load = line_with(output.out, "GPU " + std::to_string(gpu) + " ");
    counted += !load.empty() && words_of(load).back() == "equal";
  }
  CHECK(counted == gpus);
  CHECK(testing::widest(output.out) <= 100);
  return output.out;
}

}  // namespace

TEST_CASE("four GPUs that the CPU plays multiply on every grid, whatever the shape") {
  for (const auto& [shape, grid] : std::vector<std::pair<std::string, std::string>>{
           {"--size 64", "1x4"},
           {"--m 35 --n 79 --k 19", "1x4"},
           {"--m 35 --n 79 --k 19 --beta 2", "2x2"},
           {"--m 35 --n 79 --k 19", "4x1"},
           {"--m 4 --n 4 --k 1", "4x1"},
           {"--m 61 --n 67 --k 0 --beta 2", "2x2"},
           {"--m 97 --n 101 --k 103 --alpha 0 --beta -1", "2x2"}}) {
    const std::string out = check_right(shape + " --gpus 4 --panel 8 --grid " + grid, 4);
    const std::string in_words = {grid[0], ' ', 'x', ' ', grid[2]};
    CHECK(contains(line_with(out, "distributed"), in_words));
  }
}

TEST_CASE("other numbers of GPUs multiply, too, up to as many as C has elements") {
  // On a T4 each part is multiplied without tensor cores, which take the CPU ten times as long.
  check_right("--size 50 --gpus 7", 7);
  check_right("--gpu T4 --m 3 --n 4 --k 5 --gpus 12", 12);
  check_right("--gpu T4 --size 40 --gpus 30", 30);
  check_right("--gpu T4 --size 0 --gpus 1", 1);
  check_right("--gpu T4 --m 0 --n 5 --k 5 --gpus 3", 3);
}

TEST_CASE("from the host's memory, the result is the same product") {
  for (const std::string shape :
       {"--size 64", "--m 700 --n 79 --k 19 --panel 8 --beta 2", "--m 61 --n 67 --k 0 --beta 2"}) {
    for (const std::string gpus : {"1", "4"}) {
      check_right(shape + " --resident host --gpus " + gpus, std::stoi(gpus));
    }
  }
}

TEST_CASE("the counts of a small product equal a calculation by hand") {
  // 2 x 2: each device receives the half of its 32 rows of A that it lacks, and of its columns of
  // B: 2 * 32 * 32 * 4 bytes.
  const std::string out = check_right("--size 64 --gpus 4 --grid 2x2 --panel 64", 4);
  for (int gpu = 0; gpu < 4; ++gpu) {
    const auto words = words_of(line_with(out, "GPU " + std::to_string(gpu) + " "));
    REQUIRE(words.size() == 8);
    CHECK(words[2] == "0.00819");
    CHECK(words[3] == "0.00819");
  }
}

TEST_CASE("without MPI, processes of mpirun end with a sentence") {
  if (Processes::can_be_several()) return;
  const testing::Output output =
      testing::run("OMPI_COMM_WORLD_SIZE=2 " + testing::program() + " --size 64 --device cpu");
  CHECK(output.exit_code == 2);
  CHECK(output.err.starts_with("gemm_steps: mpirun started several processes"));
}

}  // namespace cluster
