// A user's files may have any names, and several makes may run at once in one checkout.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "testing/program.h"

namespace attempt {

namespace {

using testing::contains, testing::Output, testing::tests_all;

// make with the settings that this build has, if make started the tests; nothing is to be built.
std::string make() {
  const char* const flags = std::getenv("MAKEFLAGS");
  const std::string all = flags ? flags : "";
  const std::size_t settings = all.find("-- ");
  return "make --no-print-directory " +
         (settings == std::string::npos ? "" : all.substr(settings + 3) + " ");
}

std::string program_with(const std::string& kernel) {
  return "__global__ void " + kernel +
         "(int* p) { p[threadIdx.x] = 1; }\n"
         "int main() { int* p; cudaMalloc(&p, 128); " +
         kernel + "<<<1, 32>>>(p); return cudaDeviceSynchronize(); }\n";
}

// A word of bash's that means exactly that text.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

// Characters with a meaning for make, a shell, printf or a glob. One name has all of them.
std::vector<std::string> hostile_names() {
  std::vector<std::string> names = {
      "-dash",
      "\xd0\x96 ;touch pwned;$(touch pwned)`touch pwned`$$x${HOME}&a#b?*[c]{d,e}'f\"g\\h"
      "%s%=i:j|k(l)<m>!~\t\nn"};
  if (!tests_all()) return names;
  const char* const others =
      "a b\na'b\na\"b\n$x\n$(touch pwned)\n`touch pwned`\n;touch pwned;\na&b#c?\n%p%\na\tb\n"
      "a\\b\n*\n~\nk=v\nc:d\np|q\n@at\n${HOME}\n(x)\n[a]*\n{a,b}\n<x>\n!h\n lead\n.\n"
      "\xe2\x80\xae";
  for (const std::string& other : testing::lines_of(others)) names.push_back(other);
  names.push_back("a\nb");
  return names;
}

}  // namespace

TEST_CASE("a name of a user's file is neither make's nor a shell's, whatever its characters") {
  for (const std::string& name : hostile_names()) {
    CAPTURE(name);
    const testing::Folder folder;
    const std::string in = folder.path().string() + "/", file = in + name + ".cu";
    folder.write(name + ".cu", program_with("mine"));
    folder.write("more", "// nothing\n");
    folder.write(name + "/more.cu", "// nothing\n");
    const auto made = [&](const std::string& words) {
      const Output output = testing::run(make() + words + " NVCC=");
      CAPTURE(words);
      CAPTURE(output.err);
      CHECK(!contains(output.out + output.err, "***  missing separator"));
      return output;
    };
    const Output tried = made(
        "-s try KERNEL=" + quoted(file) + " MORE=" + quoted(in + name + "/more.cu") +
        " TRY_FLAGS='--format json'");
    CHECK(tried.exit_code == 0);
    CHECK(contains(tried.out, "\"name\": \"mine\""));
    const std::string page = quoted(in + name + ".html");
    CHECK(made("-s show KERNEL=" + quoted(file) + " PAGE=" + page).exit_code == 0);
    CHECK(std::filesystem::exists(in + name + ".html"));

    // Refused or graded, in each case with our own message.
    CHECK(made("-s grade EX=0 FILE=" + quoted(file)).exit_code != 0);
    CHECK(
        made("-s grade-class DIR=" + quoted(in + name) + " OUT=" + quoted(in + name + "/x.csv"))
            .exit_code != 0);
    const Output plotted =
        made("-s plot CSV=" + quoted(file) + " PLOT=" + quoted(in + name + ".svg"));
    CHECK(contains(plotted.err, "plot: "));
    CHECK(made("-s slides ANSWERS=" + quoted(name)).exit_code != 0);
    CHECK(made("-s book ANSWERS=2 BOOK=" + quoted(in + name + ".book")).exit_code != 0);

    // A tried file that no longer exists breaks nothing.
    std::filesystem::remove(file);
    CHECK(contains(made("-s try KERNEL=" + quoted(file)).err, "there is no such file"));
    CHECK(made("help").exit_code == 0);
    CHECK(made("-n clean").exit_code == 0);
    CHECK(!std::filesystem::exists("pwned"));
    std::filesystem::remove("pwned");
  }
}

TEST_CASE("several makes at once in one checkout do not disturb each other") {
  const testing::Folder folder;
  folder.write("one.cu", program_with("first"));
  folder.write("two.cu", program_with("second"));
  struct Goal {
    std::string words, says;
  };
  const Goal tries_one{"try KERNEL=" + folder / "one.cu", "first"},
      tries_two{"try KERNEL=" + folder / "two.cu", "second"},
      shows{"show PAGE=" + folder / "page.html" + " KERNEL=" + folder / "two.cu", "second"},
      grades_0{"grade EX=0 FILE=exercises/solutions/00-vector-add.cu SEED=1", "PASSED"},
      grades_1{"grade EX=1 FILE=exercises/solutions/01-index-and-guard.cu SEED=1", "PASSED"};
  const auto at_once = [&](const std::vector<Goal>& goals, const char* apart) {
    CAPTURE(std::string(apart));
    std::string command;
    for (std::size_t i = 0; i < goals.size(); ++i) {
      const std::string out = folder / ("out" + std::to_string(i));
      if (i > 0) command += "sleep " + std::string(apart) + "; ";
      command += "{ " + make() + "-s " + goals[i].words + " NVCC= > " + out + " 2>&1; echo ended " +
                 "$? >> " + out + "; } & ";
    }
    testing::run(command + "wait");
    for (std::size_t i = 0; i < goals.size(); ++i) {
      const std::string out = testing::contents(folder / ("out" + std::to_string(i)));
      CAPTURE(goals[i].words);
      CAPTURE(out);
      CHECK(contains(out, goals[i].says));
      CHECK(contains(out, "ended 0\n"));
    }
  };
  at_once({tries_one, grades_0, tries_two, grades_1, shows}, "0.1");
  if (!tests_all()) return;
  for (const char* apart : {"0", "0.2", "1"}) {
    at_once({tries_one, tries_two}, apart);
    at_once({grades_0, grades_1}, apart);
    at_once({tries_two, grades_0}, apart);
    at_once({shows, tries_one}, apart);
  }
}

namespace {

// Runs a program under gdb, as make debug does, with these commands in place of a keyboard. Returns
// stdout and stderr.
testing::Output debug(
    const std::string& position, const std::string& commands,
    const std::string& program = testing::built() / "try/tiled.debug") {
  const testing::Folder folder;
  folder.write("commands", commands);
  return testing::run(
      "GDB_FLAGS='-batch -x " + folder / "commands" + "' timeout 300 src/try/debug.sh " + program +
      " " + position + " debug --size 32 2>&1");
}

// gdb needs permission to trace a process, which a container may deny.
bool gdb_works() {
  static const bool works =
      testing::run("timeout 300 gdb -nx -batch -ex run -args true | grep -q 'exited normally'")
          .exit_code == 0;
  if (!works) std::puts("skipped: there is no gdb here, or it may not trace a process");
  return works;
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
      "hw/src/simulator/trace/k.cu",
      "struct { unsigned x, y, z; } blockIdx, threadIdx;\n"
      "int twice(int x) { return 2 * x; }\n"
      "void kernel() {\n"
      "  twice(21);\n"
      "}\n"
      "namespace simt { void run_grid(void (*kernel)()) { kernel(); } }\n"
      "int main() { simt::run_grid(kernel); }\n");
  const std::string program = home / "program";
  const testing::Output compiled = testing::run(
      "g++ -g -O0 -x c++ '" + home / "hw/src/simulator/trace/k.cu" + "' -o " + program);
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
