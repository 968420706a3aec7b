// --explain as a reader meets it: the program itself, run in a shell.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "report/numbers.h"

namespace {

struct Output {
  int exit_code;
  std::string out, err;
};

std::string file_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Runs the program that make built on the CPU, with `input` as what is typed.
Output explain_with(const std::string& flags, const std::string& input = "") {
  const char* built = std::getenv("GEMM_STEPS");
  const std::string program = built != nullptr ? built : "./gemm_steps";
  const std::string folder = std::filesystem::temp_directory_path() /
                             ("gemm_steps_explain_tests_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string in = folder + "/in", out = folder + "/out", err = folder + "/err";
  std::ofstream(in) << input;
  const std::string command = program + " --device cpu --explain " + flags;
  const int status = std::system((command + " >" + out + " 2>" + err + " <" + in).c_str());
  const Output output{WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(out), file_text(err)};
  std::filesystem::remove_all(folder);
  return output;
}

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("under the costliest request stands the same request of the stage that mends it") {
  struct Case {
    const char* flags;
    const char* here;
    const char* sentence;
    const char* there;
  };
  for (const Case& c :
       {Case{"--size 64 --stage 1", "32 lanes, 32 sectors.",
             "Stage 2, coalesced, mends it: its load of A takes 1.00 sectors",
             "The same in stage 2 on line"},
        {"--size 128 --stage 6", "32 lanes, 2 wavefronts.",
         "Stage 7, conflict-free, mends it: its store of As takes 1.00 wavefronts",
         "32 lanes, 1 wavefront."},
        {"--size 128 --stage 5", "32 lanes, 32 sectors.",
         "Stage 6, vectorized, makes it cheaper: its store of C", "[ 0 0 0 0 . "}}) {
    CAPTURE(std::string(c.flags));
    const Output output = explain_with(c.flags);
    CHECK(output.exit_code == 0);
    const std::size_t here = output.out.find(c.here), sentence = output.out.find(c.sentence);
    REQUIRE(here != std::string::npos);
    REQUIRE(sentence != std::string::npos);
    CHECK(here < sentence);
    CHECK(output.out.find(c.there, sentence) != std::string::npos);
  }
}

TEST_CASE("a costly request that no later stage mends is said to be one") {
  // Rows of 31 floats: no stage can load four at a time.
  const Output output = explain_with("--m 64 --n 31 --k 32 --stage 8");
  CHECK(output.exit_code == 0);
  CHECK(contains(output.out, "No later stage makes its "));
  CHECK_FALSE(contains(output.out, "The same in stage"));
}
