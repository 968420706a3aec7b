#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

namespace guard {

TEST_CASE("static initializers that loop, crash, throw or exit are reported in one sentence") {
  const testing::Folder folder;
  folder.write("program.cpp", R"(
#include <cstdlib>
#include <stdexcept>
#include "guard/before_main.h"
struct First {
  First() {
    const std::string what = std::getenv("WHAT");
    for (volatile bool on = what == "loop"; on;);
    if (what == "crash") *reinterpret_cast<volatile int*>(8) = 1;
    if (what == "throw") throw std::runtime_error("");
    if (what == "exit") std::exit(0);
  }
} first;
int main() {
  guard::main_begins();
  std::exit(7);
}
)");
  const testing::Output built = testing::run(
      ". '" + (testing::built() / "grade/environment").string() + "'; $CXX -iquote src '" +
      folder / "program.cpp" + "' '" + (testing::built() / "src/guard/before_main.o").string() +
      "' $LIBRARIES -o '" + folder / "program" + "'");
  CAPTURE(built.err);
  REQUIRE(built.exit_code == 0);
  const auto said = [&](const std::string& what) {
    const testing::Output output =
        testing::run("WHAT=" + what + " '" + folder / "program" + "' --limit 0.2");
    return std::to_string(output.exit_code) + " " + output.err;
  };
  const std::string begin = "1 static initializers, which run before all else, ";
  CHECK(
      said("loop") == begin + "are still running at the time limit, perhaps in an endless loop\n");
  CHECK(said("crash") == begin + "crash, or throw an exception\n");
  CHECK(said("throw").ends_with(begin.substr(2) + "crash, or throw an exception\n"));
  CHECK(said("exit") == begin + "end the program by exit()\n");
  CHECK(said("nothing") == "7 ");
}

}  // namespace guard
