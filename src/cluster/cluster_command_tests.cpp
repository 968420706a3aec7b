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
  CHECK(contains(output.out, "More than one GPU\n"));
  CHECK(contains(output.out, "check: all rows of C, against fp64"));
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

// One sentence on stderr, exit code 2, and nothing was computed before.
void check_refused(const std::string& arguments, const std::string& sentence) {
  CAPTURE(arguments);
  const testing::Output output = testing::gemm_steps(arguments);
  CHECK(output.exit_code == 2);
  CHECK(output.out == "");
  CHECK(output.err == "gemm_steps: " + sentence + "\n");
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
  check_right("--size 50 --gpus 7", 7);
  check_right("--m 3 --n 4 --k 5 --gpus 12", 12);
  check_right("--size 40 --gpus 30", 30);
  check_right("--size 0 --gpus 1", 1);
  check_right("--m 0 --n 5 --k 5 --gpus 3", 3);
}

TEST_CASE("from the host's memory, the result is the same product") {
  for (const std::string shape :
       {"--size 64", "--m 700 --n 79 --k 19 --panel 8 --beta 2", "--m 61 --n 67 --k 0 --beta 2"}) {
    for (const std::string gpus : {"1", "4"}) {
      const std::string out =
          check_right(shape + " --resident host --gpus " + gpus, std::stoi(gpus));
      CHECK(contains(out, "schedule: from the host's memory"));
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

TEST_CASE("each link has its own model, and slower ones take longer") {
  double before_ms = 0;
  for (const std::string link : {"nvlink", "pcie4", "100GbE"}) {
    const std::string out = check_right("--size 300 --gpus 4 --link " + link, 4);
    CHECK(contains(out, "model: " + link + ","));
    const auto words = words_of(line_with(out, "distributed  "));
    const double ms = std::stod(words[words.size() - 3]);
    CHECK(ms > before_ms);
    before_ms = ms;
  }
}

TEST_CASE("for a product that is too large for the CPU, only formulas and model are printed") {
  const double begun_s = testing::used_by_programs_s();
  for (const std::string resident : {"gpu", "host"}) {
    const testing::Output output =
        testing::gemm_steps("--device cpu --no-color --gpus 4 --size 16384 --resident " + resident);
    CAPTURE(output.out);
    CHECK(output.exit_code == 0);
    CHECK(contains(output.out, "not played: this product is too large for the CPU"));
    CHECK(contains(output.out, "not counted"));
    CHECK(contains(output.out, "The model's timeline: "));
    CHECK_FALSE(contains(output.out, "nan"));
  }
  CHECK(testing::used_by_programs_s() - begun_s < 4);
}

TEST_CASE("a request that several GPUs cannot meet is refused before any computation") {
  const std::string cpu = "--device cpu ";
  check_refused(
      cpu + "--gpus 0",
      "--gpus 0: too few; give the number of GPUs, from 1 to 256, for example "
      "--gpus 4");
  check_refused(
      cpu + "--gpus 257",
      "--gpus 257: too many; give the number of GPUs, from 1 to 256, for example --gpus 4");
  for (const std::string lonely :
       {"--grid 2x2", "--panel 8", "--local stage", "--resident host", "--link pcie4"}) {
    check_refused(cpu + lonely, lonely.substr(0, lonely.find(' ')) + ": needs --gpus; add it");
  }
  check_refused(
      cpu + "--gpus 6 --grid 2x2",
      "--grid 2x2: it has 4 places for 6 GPUs; give a grid with as many as --gpus");
  check_refused(
      cpu + "--gpus 2 --grid 2x",
      "--grid 2x: not a grid; give rows x columns, for example --grid 2x2");
  check_refused(
      cpu + "--gpus 4 --m 3 --n 9 --k 9 --grid 4x1",
      "--grid 4x1: C is 3 x 9, which has too few rows or columns for it; give another grid");
  check_refused(
      cpu + "--gpus 5 --size 2",
      "--gpus 5: C is 2 x 2, and no grid of that many GPUs gives each of them a part of it; give "
      "fewer");
  check_refused(
      cpu + "--gpus 2 --link rope", "--link rope: not a link; give nvlink, pcie4 or 100GbE");
  check_refused(
      cpu + "--gpus 2 --gpu paper", "--gpus: the paper GPU has no clock; choose another --gpu");
  check_refused(cpu + "--gpus 2 --local cublas", "--local cublas: there is no GPU; leave it out");
  for (const std::string useless : {"--json x", "--explain", "--out x", "--format json"}) {
    const std::string flag = useless.substr(0, useless.find(' '));
    check_refused(
        cpu + "--gpus 2 " + useless, "--gpus does not use " + flag + "; leave " + flag + " out");
  }
  check_refused(
      cpu + "--gpus 2 --list", "--list and --gpus: they cannot be combined; leave one out");
}

TEST_CASE("without MPI, processes of mpirun end with a sentence") {
  if (Processes::can_be_several()) return;
  const testing::Output output =
      testing::run("OMPI_COMM_WORLD_SIZE=2 " + testing::program() + " --size 64 --device cpu");
  CHECK(output.exit_code == 2);
  CHECK(output.err.starts_with("gemm_steps: mpirun started several processes"));
}

}  // namespace cluster
