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

TEST_CASE("GPUs that the CPU plays multiply on every grid, whatever the shape") {
  // On a T4 each part is multiplied without tensor cores, which take the CPU ten times as long.
  for (const auto& [arguments, gpus] : std::vector<std::pair<std::string, int>>{
           {"--size 64 --grid 1x4 --panel 8", 4},
           {"--m 35 --n 79 --k 19 --beta 2 --grid 2x2 --panel 8", 4},
           {"--m 35 --n 79 --k 19 --grid 4x1 --panel 8", 4},
           {"--m 61 --n 67 --k 0 --beta 2 --grid 2x2", 4},
           {"--m 97 --n 101 --k 103 --alpha 0 --beta -1 --grid 2x2", 4},
           {"--size 50", 7},
           {"--gpu T4 --m 3 --n 4 --k 5", 12},
           {"--gpu T4 --size 40", 30},
           {"--gpu T4 --size 0", 1},
           {"--gpu T4 --m 0 --n 5 --k 5", 3},
           {"--size 64 --resident host", 1},
           {"--m 700 --n 79 --k 19 --panel 8 --beta 2 --resident host", 4},
           {"--m 61 --n 67 --k 0 --beta 2 --resident host", 4}}) {
    const std::string out = check_right(arguments + " --gpus " + std::to_string(gpus), gpus);
    const std::size_t grid = arguments.find("--grid ");
    if (grid == arguments.npos) continue;
    const std::string in_words{arguments[grid + 7], ' ', 'x', ' ', arguments[grid + 9]};
    CHECK(contains(line_with(out, "distributed"), in_words));
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
