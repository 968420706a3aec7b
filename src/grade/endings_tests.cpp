#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "testing/program.h"

namespace grade {

namespace fs = std::filesystem;

namespace {

// A folder in which make finds grade.mk, all that it builds, and for grade.sh something that says
// "said" and ends with the exit code EX.
struct SmallTree {
  SmallTree() {
    folder.write(
        "Makefile",
        "SHELL := /bin/bash\nBUILD := build\nNEW = $@.new\n"
        "MAKE_PID := $(shell echo $$PPID)\n.SILENT:\ninclude " +
            fs::absolute("src/grade/grade.mk").string() + "\n");
    for (const char* part :
         {"grade.flags", "link.flags", "grade/grader.o", "grade/assemble", "grade/cpu.h.gch",
          "grade/environment"}) {
      folder.write(std::string("build/") + part, "");
    }
    folder.write("src/grade/grade.sh", "#!/bin/bash\necho said ${INSPECT:-}\nexit $1\n");
    fs::permissions(folder / "src/grade/grade.sh", fs::perms::owner_all);
  }
  testing::Output make(const std::string& words, const std::string& environment = "") const {
    return testing::run(
        "cd '" + folder.path().string() + "' && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL " +
        environment + " make " + words + " 2>&1");
  }
  testing::Folder folder;
};

}  // namespace

TEST_CASE("make prints nothing after a verdict, and keeps its exit code") {
  const SmallTree tree;
  for (const char* options : {"", "-s ", "-j3 ", "-k V=1 "}) {
    CAPTURE(options);
    const testing::Output passed = tree.make(options + std::string("grade EX=0"));
    CHECK(passed.out == "said\n");
    CHECK(passed.exit_code == 0);
    for (const char* code : {"1", "2", "4"}) {
      const testing::Output failed = tree.make(options + std::string("grade EX=") + code);
      CHECK(failed.out == "said\n");
      CHECK(failed.exit_code != 0);
    }
  }
  CHECK(tree.make("show EX=1").out == "said show\n");
  CHECK(tree.make("show EX=1").exit_code != 0);
  for (const auto& file : fs::directory_iterator(tree.folder / "build/grade")) {
    CHECK_FALSE(file.path().filename().string().starts_with("verdict"));
  }
}

TEST_CASE("make grade fails the recipe of another make, and make -n grade does nothing") {
  const SmallTree tree;
  const testing::Output inner = tree.make("grade EX=1", "MAKELEVEL=1");
  CHECK(inner.out.find("said\n") != std::string::npos);
  CHECK(inner.exit_code == 2);
  const testing::Output dry = tree.make("-n grade EX=1");
  CHECK(dry.out.find("said\n") == std::string::npos);
  CHECK(dry.exit_code == 0);
}

}  // namespace grade
