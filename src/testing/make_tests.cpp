// What make says where it cannot build, and what it builds anew.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "testing/program.h"

namespace testing {

TEST_CASE("without a compiler that can trace, every goal says in one sentence what to do") {
  const std::string remedy =
      "; install g++ 11 or newer (Debian, Ubuntu: apt install g++), or name one that is here: make "
      "CXX=path";
  const Folder folder;
  const auto sentence = [&](const std::string& script) {
    folder.write("cxx", "#!/bin/sh\n" + script + "\n");
    const std::string cxx = folder / "cxx";
    return run("chmod +x '" + cxx + "'; src/testing/deps.sh compiler '" + cxx + "'")
        .out.substr(cxx.size());
  };
  CHECK(sentence("echo 9 __clang__ 1") == ": this is version 9" + remedy + "\n");
  CHECK(sentence("echo 4 1 1") == ": this is clang, which cannot trace kernels" + remedy + "\n");
  CHECK(sentence("exit 1") == ": it does not compile C++" + remedy + "\n");
  CHECK(run("src/testing/deps.sh compiler g++").out.starts_with("gcc 1"));
  for (const std::string goal : {"", "run", "grade EX=0", "try KERNEL=examples/vector_add.cu"}) {
    CAPTURE(goal);
    const Output output = run("make CXX=none " + goal + " 2>&1");
    CHECK(output.out.ends_with("*** none: there is no such program" + remedy + ".  Stop.\n"));
    CHECK(std::count(output.out.begin(), output.out.end(), '\n') == 1);
    CHECK(output.exit_code == 2);
  }
  CHECK(run("make CXX=none help").exit_code == 0);
  CHECK(!contains(run("make -n run").out, "doctest"));  // which only tests need
}

TEST_CASE(
    "a file that is gone leaves its archive, and the answers' header follows all that it "
    "includes") {
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

}  // namespace testing
