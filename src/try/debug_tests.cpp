#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "testing/program.h"

namespace attempt {

namespace {

// Runs a program under gdb, as make debug does, with these commands in place of a keyboard. Returns
// stdout and stderr.
testing::Output debug(
    const std::string& position, const std::string& commands,
    const std::string& program = testing::built() / "try/tiled.debug") {
  const testing::Folder folder;
  folder.write("commands", commands);
  return testing::run(
      "GDB_FLAGS='-batch -x " + folder / "commands" + "' timeout 60 src/try/debug/debug.sh " +
      program + " " + position + " --size 32 2>&1");
}

// gdb needs permission to trace a process, which a container may deny.
bool gdb_works() {
  static const bool works =
      testing::run("timeout 60 gdb -nx -batch -ex run -args true | grep -q 'exited normally'")
          .exit_code == 0;
  if (!works) std::puts("skipped: there is no gdb here, or it may not trace a process");
  return works;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("under gdb a kernel stops in the chosen thread, and next stays in it across a barrier") {
  if (!gdb_works()) return;
  std::string commands = "at 24\ncontinue\n";  // the first __syncthreads()
  constexpr int kSteps = 6;
  for (int i = 0; i < kSteps; ++i) {
    commands +=
        "next\nprintf \"at %d,%d in %d,%d\\n\", threadIdx.x, threadIdx.y, blockIdx.x, "
        "blockIdx.y\n";
  }
  const testing::Output output = debug("1,1 35", commands);
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "block (1, 1, 0), thread (35, 0, 0). next stays in it"));
  int stays = 0;
  for (std::size_t at = 0; (at = output.out.find("at 35,0 in 1,1\n", at)) != std::string::npos;) {
    ++stays;
    ++at;
  }
  CHECK(stays == kSteps);
  // Across the barrier to the loop, across the barrier after it, and around.
  const std::size_t stop = output.out.find("24\t    __syncthreads();");
  const std::size_t multiply = output.out.find("26\t    for (uint k", stop);
  const std::size_t barrier = output.out.find("27\t    __syncthreads();", multiply);
  const std::size_t again = output.out.find("21\t  for (uint tile", barrier);
  CHECK(again != std::string::npos);
}

TEST_CASE("under gdb, step skips the project's own functions and enters a student's") {
  if (!gdb_works()) return;
  const std::string over = debug("0,0 0", "at 22\ncontinue\nstep\n").out;  // __ldg
  CAPTURE(over);
  const std::size_t stop = over.find("22\t    As[ty][tx]");
  CHECK(over.find("23\t    Bs[ty * WIDTH + tx]", stop) != std::string::npos);
  CHECK(!contains(over, "__ldg<"));

  // In a folder that has the name of one of the project's own. The files that debug.sh looks for
  // are beside it, so that this compiles quickly.
  const testing::Folder home;
  home.write(
      "hw/src/trace/k.cu",
      "struct { unsigned x, y, z; } blockIdx, threadIdx;\n"
      "int twice(int x) { return 2 * x; }\n"
      "void kernel() {\n"
      "  twice(21);\n"
      "}\n"
      "namespace simt { void run_grid(void (*kernel)()) { kernel(); } }\n"
      "int main() { simt::run_grid(kernel); }\n");
  const std::string program = home / "program";
  const testing::Output compiled =
      testing::run("g++ -g -O0 -x c++ '" + home / "hw/src/trace/k.cu" + "' -o " + program);
  CAPTURE(compiled.err);
  REQUIRE(compiled.exit_code == 0);
  const std::string into = debug("0,0 0", "step\n", program).out;
  CAPTURE(into);
  CHECK(contains(into, "twice (x=21)"));
}

TEST_CASE("a thread that does not exist or is malformed is reported in one sentence") {
  const testing::Output unreadable = debug("0,x 0", "");
  CHECK(unreadable.exit_code == 2);
  CHECK(
      unreadable.out ==
      "debug: BLOCK=0,x: not a position; write x, x,y or x,y,z, for example "
      "BLOCK=1,0\n");
  if (!gdb_works()) return;
  CHECK(contains(debug("7,7 0", "").out, "No kernel reached block (7, 7, 0), thread (0, 0, 0)"));
}

}  // namespace attempt
