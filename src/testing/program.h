// Runs a program as a user would in a shell, and keeps its output.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "testing/folder.h"

namespace testing {

struct Output {
  int exit_code;  // -1 if a signal ended it
  std::string out, err;
};

// Variables that users of make and of the scripts may set. They are unset for a test's programs, so
// that the user's environment cannot change a test.
inline constexpr const char* kSettings =
    "MAKEFLAGS MAKEOVERRIDES MAKELEVEL MFLAGS MAKE_TERMOUT MAKE_TERMERR "
    "ANSWERS ANSWER_S ARCH ARCHITECTURES ARCHS BASE BLOCK BOOK BRIEF BUILD COMPILE_GB COMPILE_S "
    "CSV DIR EX "
    "FACTS "
    "FILE FORMAT "
    "FLAGS GDB_FLAGS HINT "
    "JOBS KERNEL LIMIT LOOK LOOK_FLAGS MEMORY_GB NEW OUT PAGE PLOT RECORD SEED SIMILAR STAGE "
    "STUDENT "
    "TEST_FLAGS THREAD TRY_FLAGS VARIANT WORK SIZE SIZES M N K";

// Runs a bash command line with `input` on its stdin. Append 2>&1 to get stdout and stderr
// together.
inline Output run(const std::string& command, const std::string& input = "") {
  const Folder folder;
  folder.write("command", std::string("unset ") + kSettings + "\n" + command + "\n");
  folder.write("in", input);
  const int status = std::system(("exec bash '" + folder / "command" + "' <'" + folder / "in" +
                                  "' >'" + folder / "out" + "' 2>'" + folder / "err" + "'")
                                     .c_str());
  return {
      WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out"),
      contents(folder / "err")};
}

// The program that make built. The Makefile passes its path.
inline std::string program() {
  const char* built = std::getenv("GEMM_STEPS");
  return built != nullptr ? built : "./gemm_steps";
}

inline Output gemm_steps(const std::string& arguments, const std::string& input = "") {
  return run(program() + " " + arguments, input);
}

// The build folder, which contains the tests.
inline std::filesystem::path built() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

}  // namespace testing
