#include "profile/gpu_run.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "testing/program.h"

namespace profile {
namespace {

// A program that does what these lines of a shell do, in place of one for the GPU.
struct Program {
  explicit Program(const std::string& lines) {
    std::ofstream(path) << "#!/bin/sh\n" << lines;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  ~Program() { std::filesystem::remove(path); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  const std::string path = std::filesystem::absolute(testing::built() / "gpu_run_tests.sh");
};

}  // namespace

TEST_CASE("a program's launches on the GPU are timed by kernel, whatever it prints") {
  const Program program(
      "echo noise; echo noise >&2\n"
      "printf 'void tile<32, true>(float const*, int)\\t 0.5 0.25 1\\n' > $GEMM_STEPS_TIMES\n"
      "printf 'add(%s)\\t 2\\n' \"$1 in $PWD\" >> $GEMM_STEPS_TIMES\n"
      "exit 3\n");
  const GpuRun run = run_on_gpu({program.path, {"a word"}, "/"}, 3, 10);
  CHECK(run.note == "");
  REQUIRE(time_of(run, "tile<32, true>"));
  CHECK(time_of(run, "tile<32, true>")->median_ms == 0.5);
  CHECK(time_of(run, "tile<32, true>")->repetitions == 3);
  REQUIRE(time_of(run, "add"));
  CHECK(time_of(run, "add")->max_ms == 2);
  CHECK(run.times.count("add(a word in /)") == 1);
  CHECK_FALSE(time_of(run, "tile<16, true>"));
}

TEST_CASE("a program that ends differently on the GPU, or not at all, gets a note") {
  CHECK(
      run_on_gpu({Program("exit 1").path, {}, ""}, 0, 10).note ==
      "on the GPU main ended with 1, and on the CPU with 0");
  CHECK(
      run_on_gpu({Program("kill -SEGV $$").path, {}, ""}, 0, 10).note ==
      "on the GPU a signal ended the program (Segmentation fault)");
  CHECK(
      run_on_gpu({Program("exec sleep 60").path, {}, ""}, 0, 0.2).note ==
      "on the GPU the program did not end within 0.2 s, so nothing is timed; --limit allows more");
  CHECK(
      run_on_gpu({"/no/such/program", {}, ""}, 0, 10).note ==
      "the program for the GPU could not be started, so nothing is timed");
}

}  // namespace profile
