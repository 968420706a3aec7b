// What make says where it cannot build, and what it builds anew; and what reaches a test's
// programs.
#include <doctest/doctest.h>

#include <string>

#include "testing/program.h"

namespace testing {

TEST_CASE(
    "a file that is gone leaves its archive, what included it is compiled anew, and the answers' "
    "header follows all that it includes") {
  // A tree of links whose objects are empty.
  const Folder folder;
  const std::string there = "cd '" + folder.path().string() + "' && ",
                    archive = " build/instrument.a";
  run("cp -as \"$PWD\"/{Makefile,gemm_steps.cu,cpu_reference.*,src,results} '" +
      folder.path().string() + "' && " + there +
      "find src -type d | sed 's|^|build/|' | xargs mkdir -p && make $(make -n" + archive +
      " | grep -o 'build/[a-z/]*[.]flags' | sort -u) && make -t" + archive);
  CHECK(run(there + "make -q" + archive).exit_code == 0);
  const Output without = run(there + "rm src/lab/npy.cpp && make -n" + archive);
  CHECK((contains(without.out, "src/lab/*.cpp") && contains(without.out, "ar rcs")));
  run(there + "cd build/src/text && printf 'build/src/text/all.o: gone.h\ngone.h:\n' > all.o.d");
  CHECK(contains(run(there + "make -n" + archive).out, "src/text/*.cpp"));
  CHECK(contents(built() / "grade/cpu.h.gch.d").find("src/model/") != std::string::npos);
}

TEST_CASE("to grade an answer, make compiles no other exercise") {
  for (const std::string name : {"3", "coalesce", "03-coalesce"}) {
    CAPTURE(name);
    const Output graded =
        run("make -n -W exercises/03-coalesce/exercise.cpp -W "
            "exercises/04-tile-and-barriers/exercise.cpp "
            "grade FILE=any.cu EX=" +
            name);
    CHECK(contains(graded.out, "03-coalesce/exercise.cpp"));
    CHECK(!contains(graded.out, "04-tile-and-barriers/exercise.cpp"));
  }
}

TEST_CASE("each file of the tests looks for doctest where make deps unpacks it") {
  for (const std::string object : {"browser.o", "all_tests.o"}) {
    CAPTURE(object);
    const Output made = run("make -n -B build/src/testing/" + object + " | grep ' -c '");
    CHECK(contains(lines_of(made.out).back(), "-isystem build/deps/usr/include"));
  }
}

TEST_CASE(
    "a test's variables are gone after it, and those of make's users do not reach its programs") {
  const auto shown = [] { return run("echo ${OUT-none} ${SEED-none} ${TESTED-none}").out; };
  {
    const Variable out("OUT", "/nonexistent"), seed("SEED", "x"), own("TESTED", "a");
    CHECK(shown() == "none none a\n");
    const Variable again("TESTED", nullptr);
    CHECK(shown() == "none none none\n");
  }
  CHECK(shown() == "none none none\n");
  CHECK(run("SEED=5 bash -c 'echo $SEED'").out == "5\n");
}

}  // namespace testing
