#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>

#include "school/grade/exercise.h"
#include "testing/program.h"

namespace grade {

TEST_CASE("whatever the seed, C has three rows and three columns of tiles, and M is not N") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    for (const auto& [BM, BN] : {std::pair{8, 32}, {16, 32}, {64, 64}, {48, 64}, {128, 32}}) {
      const Shape whole = random.tiles(BM, BN, 5, 1);
      CHECK((whole.M % BM == 0 && whole.N % BN == 0 && whole.K == 5 && whole.variant == 1));
      CHECK((whole.M >= 3 * BM && whole.N >= 3 * BN && whole.M != whole.N));
      const Shape cut = random.cut_tiles(BM, BN, 5);
      CHECK((cut.M > 2 * BM && cut.N > 2 * BN && cut.M % BM != 0 && cut.N % BN != 0));
      const Shape part = random.part_of_tile(BM, BN, 5);
      CHECK((part.M > 0 && part.M < BM && part.N > 0 && part.N < BN));
    }
  }
}

TEST_CASE("of three large shapes, two have more than 256 tiles and the last has a long K") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::vector<Shape> shapes = Random(seed).and_large({{1, 2, 3}}, 16, 32, 8);
    REQUIRE(shapes.size() == 4);
    CHECK(!shapes[0].large);
    CHECK((shapes[1].large && shapes[1].M > 256 * 16 && shapes[1].N == 32));
    CHECK((shapes[2].large && shapes[2].M == 16 && shapes[2].N > 256 * 32));
    CHECK((shapes[3].large && shapes[3].K > 320 && shapes[3].K <= 400));
  }
}

namespace fs = std::filesystem;

namespace {

// Whether src/school/grade/blame.awk allows this hint for that answer, given that solution.
bool hint_is_allowed(
    const std::string& hint, const std::string& answer, const std::string& solution) {
  const testing::Folder folder;
  folder.write("answer", answer);
  folder.write("solution", solution);
  const std::string file = "'" + folder / "answer" + "'";
  return testing::run(
             "diff " + file + " '" + folder / "solution" + "' | awk -v hint='" + hint +
             "' -f src/school/grade/blame.awk - " + file + " 2>&1")
      .out.empty();
}

}  // namespace

TEST_CASE(
    "a hint may name a line that the solution changes, or that depends on one, and no other") {
  const std::string answer =
      "  const int row = threadIdx.x;\n"
      "  const int first = 4 * row;\n"
      "  const int col = threadIdx.y;\n"
      "  const float a = A[first];\n"
      "  const float b = B[col];\n"
      "  C[0] = a * b;\n";
  const std::string solution =
      "  const int row = threadIdx.y;\n" + answer.substr(answer.find('\n') + 1);
  CHECK(hint_is_allowed("line 1: the index", answer, solution));
  CHECK(hint_is_allowed("line 4: the load of A", answer, solution));
  CHECK_FALSE(hint_is_allowed("line 5: the load of B", answer, solution));
  CHECK_FALSE(hint_is_allowed("thread (0, 0) loads on line 5", answer, solution));
  CHECK(hint_is_allowed("stores on line 5 and loads on line 4", answer, solution));
  CHECK(hint_is_allowed("no line is known", answer, solution));
}

TEST_CASE(
    "a line within a condition that the solution changes may be named, a line after it may not") {
  const std::string answer =
      "  if (thread == 0) {\n"
      "    As[thread] = A[thread];\n"
      "  }\n"
      "  const float b = B[thread];\n";
  const std::string solution = "  if (thread < 32) {\n" + answer.substr(answer.find('\n') + 1);
  CHECK(hint_is_allowed("line 2: the load of A", answer, solution));
  CHECK_FALSE(hint_is_allowed("line 4: the load of B", answer, solution));
}

TEST_CASE("a missing guard explains what happens after it, and a missing barrier explains a race") {
  const std::string answer = "  const int i = threadIdx.x;\n  z[i] = x[i];\n  y[i] = z[0];\n";
  const std::string guarded =
      "  const int i = threadIdx.x;\n  if (i >= n) return;\n  z[i] = x[i];\n  y[i] = z[0];\n";
  const std::string ordered =
      "  const int i = threadIdx.x;\n  z[i] = x[i];\n  __syncthreads();\n  y[i] = z[0];\n";
  CHECK(hint_is_allowed("line 2: thread (5, 0)", answer, guarded));
  CHECK_FALSE(hint_is_allowed("line 1: thread (5, 0)", answer, guarded));
  CHECK(hint_is_allowed("race on z: stores on line 2 and loads on line 3", answer, ordered));
  CHECK_FALSE(hint_is_allowed("line 2: the load of x", answer, ordered));
}

TEST_CASE("a parity that is computed wrongly explains a tile that is used too early") {
  const std::string rest =
      "  mbarrier_wait(&full[0], parity);\n  sum += ring[0];\n  other += B[0];\n";
  const std::string answer = "  const int parity = tile % 2;\n" + rest;
  const std::string solution = "  const int parity = tile / 3 % 2;\n" + rest;
  const std::string use = "loads on line 3 without having waited for the copy";
  CHECK(hint_is_allowed(use, answer, solution));
  CHECK_FALSE(hint_is_allowed("line 3: the load of ring", answer, solution));
  CHECK_FALSE(hint_is_allowed(use, answer, answer + "  C[0] = sum;\n"));
}

TEST_CASE("without a tool that it needs no answer passes, and one sentence says what is missing") {
  const testing::Folder folder;
  folder.write("work/none", "");
  const std::string tools = folder / "tools";
  REQUIRE(testing::run("mkdir '" + tools + "' && ln -s /usr/bin/* '" + tools + "'").exit_code == 0);
  const std::string in_folder = "export DIR='" + folder / "work" + "' WORK='" + folder / "work" +
                                "' KERNEL=examples/naive.cu; ";
  const std::string grade = "src/school/grade/grade.sh 0 exercises/" +
                            std::string(
                                fs::exists("exercises/solutions") ? "solutions/00-vector-add.cu"
                                                                  : "00-vector-add/kernel.cu");
  const auto without = [&](const std::string& tool, const std::string& command) {
    return testing::bash(
        in_folder + "rm '" + tools + "/" + tool + "'; PATH='" + tools + "' " + command +
        "; code=$?; " + "ln -s /usr/bin/" + tool + " '" + tools + "'; exit $code");
  };
  for (const std::string tool : {"nm", "readelf", "objcopy", "c++filt", "ld"}) {
    CAPTURE(tool);
    const std::string missing =
        ": " + tool + " is missing; install binutils, to which it belongs\n";
    const testing::Output graded = without(tool, grade);
    CHECK(graded.exit_code == 3);
    CHECK(graded.out == "grade" + missing);
    const testing::Output tried = without(tool, "src/try/try.sh compile '" + folder / "out" + "'");
    CHECK(tried.exit_code == 2);
    CHECK(tried.out == "compile" + missing);
  }
  CHECK(without("nm", "src/school/grade/grade_class.sh").exit_code == 3);
  for (const auto& [tool, does, sentence] :
       {std::tuple{
            "readelf", "exit 0",
            "grade: this is the grader's fault and not the answer's: readelf fails"},
        {"readelf", "echo broken >&2; exit 1",
         "grade: this is the grader's fault and not the answer's: readelf fails (broken)"},
        {"objcopy", "echo broken >&2; exit 1",
         "grade: this is the grader's fault and not the answer's: the answer cannot be linked"}}) {
    CAPTURE(std::string(tool));
    folder.write("broken/" + std::string(tool), "#!/bin/sh\n" + std::string(does) + "\n");
    const std::string broken = folder / "broken";
    const testing::Output graded = testing::bash(
        in_folder + "chmod +x '" + broken + "'/*; PATH='" + broken + "':$PATH " + grade +
        "; code=$?; rm '" + broken + "'/*; exit $code");
    CAPTURE(graded.out);
    CHECK(graded.exit_code == 3);
    CHECK(graded.out.starts_with(sentence));
    CHECK(std::count(graded.out.begin(), graded.out.end(), '\n') == 1);
  }
  for (const auto& [name, command] :
       {std::pair{std::string("grade"), grade},
        {"grade-class", "src/school/grade/grade_class.sh"},
        {"check-exercises", "src/school/grade/check.sh $BUILD"},
        {"show", "src/try/try.sh show"},
        {"TMPDIR=/nowhere", "src/try/limited.sh yours.cu true"}}) {
    const testing::Output output = testing::bash(in_folder + "TMPDIR=/nowhere " + command);
    CAPTURE(output.out);
    CHECK(output.exit_code == 2);
    CHECK(output.out.starts_with(name + ": no temporary file can be made "));
    CHECK(std::count(output.out.begin(), output.out.end(), '\n') == 1);
  }
}

TEST_CASE("an uninitialized sum makes the result wrong, if the compiler can set its value") {
  const std::string environment = testing::contents(testing::built() / "grade/environment");
  if (environment.find("-ftrivial-auto-var-init") == std::string::npos) return;  // before g++ 12
  const testing::Folder folder;
  std::string answer = testing::contents("exercises/00-vector-add/kernel.cu");
  folder.write(
      "00-vector-add.cu", answer.insert(
                              answer.find("  // ---- end of your code"),
                              "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  float sum;\n"
                              "  if (i < n) sum += x[i] + y[i], z[i] = sum;\n"));
  const testing::Output graded =
      testing::bash("HINT=1 src/school/grade/grade.sh 0 '" + folder / "00-vector-add.cu" + "'");
  CHECK(graded.exit_code == 1);
  CHECK(graded.out.find("a variable is used before") != std::string::npos);
}

namespace fs = std::filesystem;

namespace {

// A folder in which make finds grade.mk, all that it builds, and in place of grade.sh a script that
// prints "said" and ends with the exit code EX.
struct SmallTree {
  SmallTree() {
    folder.write(
        "Makefile",
        "SHELL := /bin/bash\nBUILD := build\nNEW = $@.new\n"
        "MAKE_PID := $(shell echo $$PPID)\n.SILENT:\ninclude " +
            fs::absolute("src/school/grade/grade.mk").string() + "\n");
    for (const char* part :
         {"grade.flags", "link.flags", "grade/grader.o", "grade/inspect.o", "grade/assemble",
          "grade/cpu.h.gch", "grade/environment"}) {
      folder.write(std::string("build/") + part, "");
    }
    folder.write("src/school/grade/grade.sh", "#!/bin/bash\necho said ${INSPECT:-}\nexit $1\n");
    fs::permissions(folder / "src/school/grade/grade.sh", fs::perms::owner_all);
  }
  testing::Output make(const std::string& words, const std::string& environment = "") const {
    return testing::run(
        "cd '" + folder.path().string() + "' && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL " +
        environment + " make " + words + " 2>&1");
  }
  testing::Folder folder;
};

}  // namespace

TEST_CASE("a failed verdict explains the error message that make prints after it") {
  const SmallTree tree;
  const std::string announced = "said\n(Not passed yet. make calls that an error:)\nmake: *** [";
  for (const char* options : {"", "-s ", "-j3 ", "-k "}) {
    CAPTURE(options);
    const testing::Output passed = tree.make(options + std::string("grade EX=0"));
    CHECK(passed.out == "said\n");
    CHECK(passed.exit_code == 0);
    const testing::Output failed = tree.make(options + std::string("grade EX=1"));
    CHECK(failed.out.starts_with(announced));
    CHECK(failed.exit_code == 2);
    // An answer that cannot be graded gets a sentence of its own.
    const testing::Output refused = tree.make(options + std::string("grade EX=2"));
    CHECK(refused.out.starts_with("said\nmake: *** ["));
    CHECK(refused.exit_code == 2);
  }
  CHECK(tree.make("show EX=1").out.starts_with("said show\n(Not passed yet."));
  CHECK(tree.make("show EX=1").exit_code == 2);
  // Nor is a fault of the grader's the answer's.
  CHECK(tree.make("grade EX=3").out.starts_with("said\nmake: *** ["));
  const testing::Output dry = tree.make("-n grade EX=1");
  CHECK(dry.out.find("said\n") == std::string::npos);
  CHECK(dry.exit_code == 0);
}

namespace {

// The verdict when an answer has taken over its process. The text of an answer cannot do that, so a
// function of the test takes its place and attacks directly.

const char* const kTakenOver = R"(
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include "simulator/guard/child.h"
#include "school/grade/shape.h"

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

TEST_CASE("an answer that takes over its process reaches nothing, fails, and gets the reason") {
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
      MESSAGE("skipped: this system grants no filter of system calls");
      return;
    }
    CHECK(output.exit_code == 1);
    CHECK(output.out.find(words) != std::string::npos);
    CHECK(output.out.find('\033') == std::string::npos);
    CHECK(!std::filesystem::exists(made));
  }
  // The limit on its processor time, not the one on its running time.
  const testing::Output exhausted = testing::run(
      "ulimit -St 1; ATTACK=loop MADE= '" + folder / "grade" +
      "' --exercise 01-index-and-guard --file exercises/01-index-and-guard/kernel.cu --seed 1 " +
      "--hint 1 --limit 60");
  CHECK(exhausted.exit_code == 6);
  CHECK(exhausted.out.find("the kernel has used up its processor time") != std::string::npos);
}

}  // namespace grade
