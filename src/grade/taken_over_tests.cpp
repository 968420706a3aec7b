// What grading comes to where an answer has taken over the process that it runs in. No answer's
// text gets so far; here a function stands in its place that does at once what such an answer would
// want.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "testing/program.h"

namespace grade {
namespace {

const char* const kTakenOver = R"(
#include <sys/socket.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include "guard/child.h"
#include "grade/shape.h"

// An address that is computed from another one, as a kernel could do it.
template <class F>
F* at(F* function) {
  static volatile std::uintptr_t distance;
  distance = reinterpret_cast<std::uintptr_t>(function) - reinterpret_cast<std::uintptr_t>(&std::abort);
  return reinterpret_cast<F*>(reinterpret_cast<std::uintptr_t>(&std::abort) + distance);
}
void report(const std::string& text) {
  guard::tell(guard::Message::kReport, 0, text.data(), text.size());
}

void run(Shape, const float*, const float*, float*) {
  const std::string attack = std::getenv("ATTACK"), made = std::getenv("MADE");
  if (attack == "popen") at(&popen)(("touch " + made).c_str(), "r");
  if (attack == "fopen") at(&fopen)(made.c_str(), "w");
  if (attack == "socket") at(&socket)(AF_INET, SOCK_STREAM, 0);
  if (attack == "fork") at(&fork)();
  if (attack == "exit") at(&std::exit)(0);
  if (attack == "_exit") at(&_exit)(0);
  for (volatile bool on = attack == "loop"; on;);
  if (attack == "nonsense") report("passed"), _exit(0);
  if (attack == "escapes") {
    const auto zero = std::string(1, '\0');
    report("0" + zero + "\033[2Jtable\n" + zero + zero + "no\n\nno\n" + zero + "0" + zero +
           "\033]0;title\a\nPASSED" + zero + zero + zero);
    _exit(0);
  }
}
)";

}  // namespace

TEST_CASE("an answer that takes over its process reaches nothing, fails, and is told why") {
  const testing::Folder folder;
  const std::string made = folder / "made";
  folder.write("taken_over.cpp", kTakenOver);
  const testing::Output linked = testing::run(
      ". '" + (testing::built() / "grade/environment").string() +
      "'; $CXX -std=c++20 -iquote src -c '" + folder / "taken_over.cpp" + "' -o '" +
      folder / "taken_over.o" + "' && $CXX '" + folder / "taken_over.o" +
      "' \"$EXERCISE_OBJECTS/01-index-and-guard/exercise.o\" '" +
      (testing::built() / "grade/grader.o").string() + "' $LIBRARIES -o '" + folder / "grade" +
      "'");
  CAPTURE(linked.err);
  REQUIRE(linked.exit_code == 0);
  struct Attack {
    const char *name, *words;
  };
  for (const auto& [name, words] : {
           Attack{"popen", "the kernel tries to reach the system (system call"},
           {"fopen", "the kernel tries to reach the system (system call"},
           {"socket", "the kernel tries to reach the system (system call"},
           {"fork", "the kernel tries to reach the system"},
           {"exit", "ends the program by exit()"},
           {"_exit", "ends the program before it is done"},
           {"nonsense", "the report of the process that ran the kernel makes no sense"},
           {"escapes", R"(\x1b]0;title\x07\nPASSED)"},
       }) {
    const testing::Output output = testing::run(
        "ATTACK=" + std::string(name) + " MADE='" + made + "' '" + folder / "grade" +
        "' --exercise 01-index-and-guard --file exercises/01-index-and-guard/kernel.cu --seed 1 " +
        "--hint 2 --limit 1");
    const std::string attack = name;
    CAPTURE(attack);
    CAPTURE(output.out);
    CAPTURE(output.err);
    if (output.err.find("grants no filter of system calls") != std::string::npos) {
      MESSAGE("left out: this system grants no filter of system calls");
      return;
    }
    CHECK(output.exit_code == 1);
    CHECK(output.out.find(words) != std::string::npos);
    CHECK(output.out.find('\033') == std::string::npos);
    CHECK(!std::filesystem::exists(made));
  }
  // Not as long as it may run, but as long as it may use a processor.
  const testing::Output exhausted = testing::run(
      "ulimit -St 1; ATTACK=loop MADE= '" + folder / "grade" +
      "' --exercise 01-index-and-guard --file exercises/01-index-and-guard/kernel.cu --seed 1 " +
      "--hint 1 --limit 60");
  CHECK(exhausted.exit_code == 6);
  CHECK(exhausted.out.find("the kernel has used up its processor time") != std::string::npos);
}

}  // namespace grade
