#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace attempt {

namespace {

struct Output {
  int exit_code;
  std::string text;  // stdout and stderr
};

std::string folder() {
  const auto path = std::filesystem::temp_directory_path() /
                    ("gemm_steps_debug_tests_" + std::to_string(getpid()));
  std::filesystem::create_directories(path);
  return path.string();
}

// The sample under gdb, as make debug does it, with these commands in place of a keyboard.
Output debug(const std::string& position, const std::string& commands) {
  const std::string script = folder() + "/commands", out = folder() + "/out";
  std::ofstream(script) << commands;
  const auto tests = std::filesystem::read_symlink("/proc/self/exe");
  const std::string program = (tests.parent_path() / "try/tiled.debug").string();
  const std::string command = "GDB_FLAGS='-batch -x " + script +
                              "' timeout 60 src/try/debug/debug.sh " + program + " " + position +
                              " --size 32 >" + out + " 2>&1 </dev/null";
  const int status = std::system(command.c_str());
  std::ostringstream text;
  text << std::ifstream(out).rdbuf();
  std::filesystem::remove_all(folder());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text.str()};
}

// gdb needs leave to trace a process, which a container may not have.
bool gdb_works() {
  static const bool works =
      std::system(
          "timeout 60 gdb -nx -batch -ex run -args true 2>/dev/null | grep -q 'exited "
          "normally'") == 0;
  if (!works) std::puts("skipped: there is no gdb here, or it may not trace");
  return works;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("under gdb a kernel stops in the chosen thread, and next stays in it over a barrier") {
  if (!gdb_works()) return;
  std::string commands = "at 24\ncontinue\n";  // the first __syncthreads()
  constexpr int kSteps = 6;
  for (int i = 0; i < kSteps; ++i) {
    commands +=
        "next\nprintf \"at %d,%d in %d,%d\\n\", threadIdx.x, threadIdx.y, blockIdx.x, "
        "blockIdx.y\n";
  }
  const Output output = debug("1,1 35", commands);
  CAPTURE(output.text);
  CHECK(output.exit_code == 0);
  CHECK(contains(output.text, "block (1, 1, 0), thread (35, 0, 0). next stays in it"));
  int stays = 0;
  for (std::size_t at = 0; (at = output.text.find("at 35,0 in 1,1\n", at)) != std::string::npos;) {
    ++stays;
    ++at;
  }
  CHECK(stays == kSteps);
  // Over the barrier to the loop, over the barrier behind it, and around.
  const std::size_t stop = output.text.find("24\t    __syncthreads();");
  const std::size_t multiply = output.text.find("26\t    for (uint k", stop);
  const std::size_t barrier = output.text.find("27\t    __syncthreads();", multiply);
  const std::size_t again = output.text.find("21\t  for (uint tile", barrier);
  CHECK(again != std::string::npos);
}

TEST_CASE("a thread that no kernel has, or that is none, is said in a sentence") {
  const Output unreadable = debug("0,x 0", "");
  CHECK(unreadable.exit_code == 2);
  CHECK(
      unreadable.text ==
      "debug: BLOCK=0,x: no position; write x, x,y or x,y,z, for example "
      "BLOCK=1,0\n");
  if (!gdb_works()) return;
  CHECK(contains(debug("7,7 0", "").text, "No kernel came to block (7, 7, 0), thread (0, 0, 0)"));
}

}  // namespace attempt
