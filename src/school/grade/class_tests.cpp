#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

#include "testing/golden.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace grade {

namespace fs = std::filesystem;
using testing::bash, testing::contains, testing::Output;

namespace {

// The answer that the edit `name` of `list` makes, in `folder`. Most are edits of solutions. If
// these are missing, prints a message and returns nothing.
fs::path edited(const testing::Folder& folder, const std::string& list, const std::string& name) {
  if (fs::exists(list)) {
    const Output made =
        bash("awk -v into='" + folder.path().string() + "' -f src/text/edits.awk " + list);
    CAPTURE(made.out);
    REQUIRE(made.exit_code == 0);
    const fs::path answer = folder.path() / (name + ".cu");
    if (fs::exists(answer)) return answer;
  }
  REQUIRE(!fs::exists("exercises/solutions"));
  std::printf("left out: no solution is here that %s of %s edits\n", name.c_str(), list.c_str());
  return {};
}

const std::string kFirst = "exercises/01-index-and-guard/wrong.txt";
const std::string kThird = "exercises/03-coalesce/wrong.txt";
const std::string kFourth = "exercises/04-tile-and-barriers/wrong.txt";
const std::string kDeceptions = "src/school/grade/deceptions.txt";

// The number of the first line that has `part`, from 1.
std::string line_with(const std::string& part, const std::string& text) {
  const auto begin = text.begin(), found = begin + text.find(part);
  return std::to_string(1 + std::count(begin, found, '\n'));
}

std::string grade_class(const testing::Folder& folder, const std::string& settings) {
  return "DIR='" + folder.path().string() + "' JOBS=2 LIMIT=3 SEED=5 " + settings +
         " src/school/grade/grade_class.sh";
}

// Grades a class and compares what is printed, in the order of the alphabet, and the tables without
// digests with a golden file; also these students' feedback.
void compare_class_with_golden(
    const std::string& name, const testing::Folder& folder, const std::string& settings,
    const std::vector<std::string>& students = {}) {
  const Output output = bash(
      "set -o pipefail; " + grade_class(folder, settings) +
      " | grep -v 'grants no filter' | LC_ALL=C sort");
  CHECK(output.exit_code == 0);
  std::vector<testing::TitledText> texts{
      {"printed", testing::replaced(output.out, folder.path().string(), "DIR")}};
  for (const char* table : {"", "-students", "-exercises", "-pairs"}) {
    const std::string file = "class" + std::string(table) + ".csv";
    texts.emplace_back(
        file, testing::replaced(testing::contents(folder / file), ",[0-9a-f]{16}\n", ",\n"));
  }
  for (const std::string& student : students) {
    texts.emplace_back(student, testing::contents(folder / ("class-feedback/" + student + ".txt")));
  }
  testing::compare_with_golden(name, texts);
  CHECK(!fs::exists(folder / "class.csv.partial"));
  CHECK(!fs::exists(folder / "class.csv.partial-feedback"));
}

}  // namespace

TEST_CASE("a class's verdicts, points and copies are those of their golden file") {
  const testing::Folder folder, answers;
  const fs::path no_guard = edited(answers, kFirst, "no_guard");
  if (no_guard.empty()) return;
  const std::string wrong = testing::contents(no_guard);
  folder.write("wrong, \"Ann\"/01-index-and-guard.cu", wrong);
  folder.write(
      "wrong, \"Ann\"/grades.csv",
      "date,exercise,seed,hint,verdict\n"
      "2026-01-01T00:00:00Z,01-index-and-guard,1,1,failed\n"
      "2026-01-01T00:00:00Z,03-coalesce,1,2,failed\n");
  folder.write(
      "broken/answers/01-index-and-guard.cu",
      testing::replaced(wrong, "const int row", "const in row"));
  folder.write(
      "endless/01-index-and-guard.cu", testing::contents(edited(answers, kDeceptions, "endless")));
  folder.write(
      "cheater/01-index-and-guard.cu", testing::contents(edited(answers, kDeceptions, "exits")));
  // Other names and comments, the same program.
  std::string copied = testing::replaced(wrong, "\\bk\\b", "step");
  copied = testing::replaced(copied, "\\bsum\\b", "total");
  folder.write(
      "copier/01-index-and-guard.cu",
      testing::replaced(copied, "; \\+\\+step", "; ++step /* mine */"));
  fs::create_directories(folder.path() / "idle");
  folder.write(
      "good/01-index-and-guard.cu", testing::contents("exercises/solutions/01-index-and-guard.cu"));
  // Names that might lead out of the folder, or act as formulas in a spreadsheet.
  folder.write("=1+1/01-index-and-guard.cu", wrong);
  folder.write("line\nbreak/01-index-and-guard.cu", wrong);
  fs::create_directories(folder.path() / "linker");
  fs::create_symlink(no_guard, folder.path() / "linker/01-index-and-guard.cu");

  compare_class_with_golden("class-verdicts", folder, "EX=1");
}

TEST_CASE("an interrupted grading of a class continues, and grades nothing twice") {
  const testing::Folder folder, answers;
  const fs::path racing = edited(answers, kFourth, "no_second_barrier");
  if (racing.empty()) return;
  const std::string answer = testing::contents(racing);
  folder.write("ada/04-tile-and-barriers.cu", answer);
  folder.write("bob/04-tile-and-barriers.cu", answer + "\n");
  const std::string digest =
      bash("sha256sum < '" + folder / "ada/04-tile-and-barriers.cu" + "'").out.substr(0, 16);
  // An impossible verdict, which shows whether it was kept; one for a file that has changed since;
  // and the beginning of a row.
  folder.write(
      "class.csv.partial", "# seed 77\n\"ada\",04-tile-and-barriers,passed,3,yes,yes,yes,–,,77," +
                               digest + "\n" +
                               "\"bob\",04-tile-and-barriers,passed,3,yes,yes,yes,–,,77," +
                               std::string(16, '0') + "\n\"bob\",04-ti");
  const std::string partial = folder / "class.csv.partial";
  const Output other_seed = bash(grade_class(folder, "EX=4"));
  CHECK(other_seed.exit_code == 2);
  CHECK(
      other_seed.out ==
      "grade-class: " + partial + " was begun with SEED=77; remove it to begin anew\n");
  const Output output = bash(grade_class(folder, "EX=4 SEED="));
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  const std::string table = testing::contents(folder / "class.csv");
  CAPTURE(table);
  CHECK(
      contains(table, "\"ada\",04-tile-and-barriers,passed,3,yes,yes,yes,–,,77," + digest + "\n"));
  CHECK(contains(table, "\"bob\",04-tile-and-barriers,failed,0,no,–,–,–,,77,"));
  CHECK(!contains(table, std::string(16, '0')));
  CHECK(!fs::exists(partial));
}

TEST_CASE("a folder that grade-class does not understand is refused in a sentence") {
  const testing::Folder folder, odd;
  odd.write("class.csv/01-index-and-guard.cu", "");
  odd.write("other-feedback/mine.txt", "");
  const std::string where = "DIR=" + folder.path().string() + " ";
  for (const auto& [settings, sentence] : {
           std::pair{std::string("DIR="), "which folder? make grade-class DIR=submissions"},
           {"DIR=/nowhere/at/all", "DIR=/nowhere/at/all: there is no such folder"},
           {where, "holds no folder or file of a student"},
           {where + "JOBS=0", "JOBS=0: give a whole number, for example JOBS=4"},
           {where + "SEED=x", "SEED=x: give a whole number"},
           {where + "LIMIT=1e9", "LIMIT=1e9: give seconds"},
           {where + "SIMILAR=2", "SIMILAR=2: give the part that two answers share"},
           {where + "EX=99", "EX=99: no such exercise"},
           {where + "OUT=table", "OUT=table: give a file that ends in .csv"},
           {where + "OUT=/nowhere/a.csv", "OUT=/nowhere/a.csv: cannot be written"},
           {where + "HINT=3", "HINT=3: give 0 (the symptom)"},
           {"DIR=" + odd.path().string(), "class.csv: is a folder"},
           {"OUT=" + odd / "other.csv" + " " + where, "other-feedback: is not of this program"},
       }) {
    const Output output = bash(settings + " src/school/grade/grade_class.sh");
    CAPTURE(settings);
    CAPTURE(output.out);
    CHECK(output.exit_code == 2);
    CHECK(contains(output.out, sentence));
  }
}

TEST_CASE("make grade-class takes settings from its command line, and none from the environment") {
  const testing::Folder folder;
  folder.write(
      "ann/01-index-and-guard.cu", testing::contents("exercises/01-index-and-guard/kernel.cu"));
  // Nothing is built here: the contents of the build folder count as up to date.
  const Output output = bash(
      "mapfile -t built < <(find \"$BUILD\" -type f)\n"
      "OUT=/nonexistent/class.txt DIR=/nonexistent EX=99 SEED=x JOBS=x LIMIT=x HINT=9 STUDENT=x "
      "FILE=/nonexistent.cu KERNEL=/nonexistent.cu SIMILAR=9 MEMORY_GB=x ANSWER_S=x "
      "make NVCC= \"${built[@]/#/--old-file=}\" BUILD=\"$BUILD\" DIR='" +
      folder.path().string() + "' EX=1 grade-class");
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  CHECK(contains(
      testing::contents(folder / "class.csv"),
      "\n\"ann\",01-index-and-guard,nothing written yet,"));
}

TEST_CASE("the highest hint level is recorded and printed, and an invalid level is refused") {
  const testing::Folder folder;
  const std::string record = folder / "grades.csv";
  const std::string grade = "RECORD='" + record + "' SEED=5 src/school/grade/grade.sh 1 ";
  const std::string wrong = edited(folder, kDeceptions, "returns_early");
  CHECK(
      bash("HINT=3 " + grade + wrong).out ==
      "HINT=3: give 0 (the symptom), 1 (where to look) or 2 (line and thread)\n");
  CHECK(!fs::exists(record));
  CHECK(bash("HINT=1 " + grade + wrong).exit_code == 1);
  CHECK(contains(bash(grade + wrong).out, "highest hint level used so far: 1"));
  CHECK(testing::whole_match(
      testing::contents(record),
      "date,exercise,seed,hint,verdict\n"
      "[-0-9]{10}T[:0-9]{8}Z,01-index-and-guard,5,1,failed\n"
      "[-0-9]{10}T[:0-9]{8}Z,01-index-and-guard,5,0,failed\n"));
}

TEST_CASE("a hint of level 2 names the index that is out of range, and its dimension") {
  const testing::Folder folder;
  const fs::path racing = edited(folder, kFourth, "no_second_barrier");
  if (racing.empty()) return;
  const std::string answer =
      testing::replaced(testing::contents(racing), "As\\[k\\]\\[row\\]", "As[k + 1][row]");
  folder.write("04-tile-and-barriers.cu", answer);
  const Output output = bash(
      "SEED=5 HINT=2 src/school/grade/grade.sh 4 '" + (folder / "04-tile-and-barriers.cu") +
      "' | tr -s ' \\n' '  '");
  CAPTURE(output.out);
  CHECK(contains(output.out, "FAILED an index is outside of its array"));
  CHECK(contains(
      output.out, "multiply, block (0, 0): thread (0, 0) uses index 8 of As on line " +
                      line_with("As[k + 1][row]", answer) +
                      ", in a dimension whose indices go from 0 to 7"));
}

TEST_CASE("an answer in any folder called src gets the line where it was stopped") {
  const testing::Folder folder;
  folder.write(
      "src/01-index-and-guard.cu", testing::contents(edited(folder, kDeceptions, "endless")));
  const std::string answer = folder / "src/01-index-and-guard.cu";
  const std::string text = testing::contents(answer);
  const auto stopped_at = [&](const Output& output, const char* line) {
    return contains(output.out, "detail    " + answer + ":" + line_with(line, text) + "\n");
  };
  const Output output = bash("SEED=5 HINT=2 LIMIT=1 src/school/grade/grade.sh 1 '" + answer + "'");
  CAPTURE(output.out);
  CHECK(output.exit_code == 4);
  CHECK((stopped_at(output, "while (M > 0)") || stopped_at(output, "if (K < 0)")));
}

TEST_CASE("an answer is shown and stepped through, even if it fails") {
  const testing::Folder folder;
  const std::string record = folder / "grades.csv";
  const std::string page = folder / "page.html";
  const std::string settings = "RECORD='" + record + "' LIMIT=1 PAGE='" + page + "' ";
  const std::string racing = edited(folder, kFourth, "no_second_barrier");
  if (racing.empty()) return;

  const Output shown = bash("INSPECT=show " + settings + "src/school/grade/grade.sh 4 " + racing);
  CAPTURE(shown.out);
  CHECK(shown.exit_code == 1);
  CHECK(contains(shown.out, "exercise 04-tile-and-barriers: M 16, N 32, K 16, seed 1"));
  CHECK(contains(shown.out, "race on As"));
  CHECK(contains(shown.out, " lanes store 4 B to As: "));
  CHECK(contains(testing::contents(page), "<svg"));
  CHECK(contains(testing::contents(record), ",04-tile-and-barriers,1,2,shown\n"));

  const Output stepped = bash(
      "INSPECT=step INSPECT_FLAGS='--until hazard --print' " + settings +
      "src/school/grade/grade.sh 4 " + racing);
  CAPTURE(stepped.out);
  CHECK(stepped.exit_code == 1);
  CHECK(contains(stepped.out, "As 8 x 16"));
  CHECK(contains(stepped.out, "with no barrier between them"));

  // The remedy is the exercise's: exercise 0 allows no atomic.
  const std::string looping =
      edited(folder, "exercises/00-vector-add/wrong.txt", "everybody_loops");
  for (const char* how :
       {"INSPECT=show ", "INSPECT=step INSPECT_FLAGS='--until hazard --print' "}) {
    const Output inspected = bash(how + settings + "src/school/grade/grade.sh 0 " + looping);
    CAPTURE(inspected.out);
    CHECK(contains(
        testing::replaced(inspected.out, "\\s+", " "), "one thread, one element, no loop"));
    CHECK_FALSE(contains(inspected.out, "atomicAdd"));
  }

  // A is stored column by column in this exercise, so a column of it is shown as a row.
  const Output columns = bash(
      "INSPECT=step INSPECT_FLAGS='--frame 1 --print' " + settings +
      "src/school/grade/grade.sh 3 " + edited(folder, kThird, "c_by_rows").string());
  CAPTURE(columns.out);
  CHECK(testing::first_match(
      columns.out, "A \\d+ x (\\d+) [^]*C \\(\\1 x |C \\((\\d+) x [^]*A \\d+ x \\2 "));

  // So is C, with a warp for each of its columns.
  const Output by_columns = bash(
      "SEED=2 INSPECT=show " + settings + "src/school/grade/grade.sh 3 " +
      edited(folder, kThird, "a_by_rows").string());
  CAPTURE(by_columns.out);
  CHECK(contains(by_columns.out, "columns 0 to 16 of C"));
  CHECK(contains(by_columns.out, "\n  0123456789abcdefg\n  0123456789abcdefg\n"));

  // Not the smallest shape, 26 x 65 x 22: its rows are shorter than a warp is wide.
  const Output whole = bash(
      "SEED=3 INSPECT=show " + settings +
      "src/school/grade/grade.sh 1 exercises/solutions/01-index-and-guard.cu");
  CHECK(whole.exit_code == 0);
  CHECK(contains(whole.out, "exercise 01-index-and-guard: M 16, N 64, K 64, seed 3"));
  CHECK(contains(whole.out, "32.00 sectors/request"));

  const Output endless = bash(
      "INSPECT=show " + settings + "src/school/grade/grade.sh 1 " +
      edited(folder, kDeceptions, "endless").string());
  CHECK(endless.exit_code == 1);
  CHECK(contains(endless.out, "it is still running after 1 s of processor time, perhaps in an"));

  const Output early = bash(
      "INSPECT=show " + settings +
      "src/school/grade/grade.sh 2 exercises/02-count-loads/start.txt");
  CHECK(early.exit_code == 2);
  CHECK(contains(early.out, "answer this exercise first"));

  const Output sized = bash(
      "INSPECT=step INSPECT_FLAGS='--size 64' " + settings + "src/school/grade/grade.sh 4 " +
      racing);
  CHECK(sized.exit_code == 2);
  CHECK(contains(sized.out, "an exercise draws its own shapes"));
}

// The table of a class: what is read, which points are given, and each student's feedback.

namespace {

// The first exercise's kernel with this code.
std::string with(const std::string& code) {
  return testing::replaced(
      testing::contents("exercises/01-index-and-guard/kernel.cu"), "  // ---- end of your code",
      code + "\n  // ---- end of your code");
}

}  // namespace

TEST_CASE("exports of learning platforms are graded as in their golden file: plain files only") {
  const testing::Folder folder;
  const std::string skeleton = with(""), begun = with("  asm(nop);");
  const auto hand_in = [&](const std::string& name, const std::string& text) {
    folder.write(name, text);
  };
  hand_in("J\u00fcrgen, \"J\"_12_assignsubmission_file_01-index-and-guard.cu", begun);
  hand_in(
      "J\u00fcrgen, \"J\"_12_assignsubmission_file_grades.csv",
      "date,exercise,seed,hint,verdict\n,01-index-and-guard,1,2,failed\n");
  hand_in("Ada L_13_assignsubmission_file_/01-index-and-guard.cu", begun);
  hand_in("Same Name_14_assignsubmission_file_01-index-and-guard.cu", begun);
  hand_in("Same Name_15_assignsubmission_file_01-index-and-guard.cu", skeleton);
  hand_in("turingalan_5_6_01-index-and-guard.cu", begun);
  hand_in("turingalan_LATE_5_7_01-index-and-guard-2.cu", "");
  hand_in("turingalan_5_6_01-index-and-guard-1.cu", begun);
  hand_in("Homework 1_jdoe_attempt_2026-01-02-03-04-05_01-index-and-guard.cu", begun);
  hand_in("notes.txt", "of the lecturer");
  hand_in("no platform 01-index-and-guard.cu", begun);
  hand_in("large/01-index-and-guard.cu", "");
  fs::resize_file(folder.path() / "large/01-index-and-guard.cu", std::uintmax_t{20} << 30);
  for (const char* name : {"fifo", "device", "folder"}) fs::create_directory(folder.path() / name);
  REQUIRE(mkfifo((folder / "fifo/01-index-and-guard.cu").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", folder.path() / "device/01-index-and-guard.cu");
  fs::create_directory(folder.path() / "folder/01-index-and-guard.cu");

  compare_class_with_golden(
      "class-exports", folder, "EX=1 HINT=1", {"Ada L", "fifo", "J\u00fcrgen, \"J\""});

  // Another run replaces all of it, and mistakes none of it for a student's file.
  hand_in("class-feedback/old.txt", "");
  const Output again = bash(grade_class(folder, "EX=1"));
  CAPTURE(again.out);
  CHECK(contains(again.out, "10 students, 1 exercise: "));
  CHECK(!fs::exists(folder.path() / "class-feedback/old.txt"));
  CHECK(!fs::exists(folder.path() / "class.csv.partial-feedback"));
}

TEST_CASE("points are those of their golden file: for a right result, no hazard, the target") {
  const testing::Folder folder;
  const std::string where =
      "const int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "const int col = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "if (row >= M || col >= N) return;\n"
      "float sum = 0;\n";
  const std::string sum = "for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[col * K + k];\n";
  folder.write("nothing done/01-index-and-guard.cu", with("if (M < 0) return;"));
  folder.write("right/01-index-and-guard.cu", with(where + sum + "C[row * N + col] = sum;"));
  folder.write(
      "twice/01-index-and-guard.cu",
      with(where + sum + "C[row * N + col] = 0;\nC[row * N + col] = sum;"));
  folder.write("formulas/02-count-loads.txt", "answer barriers: 1\n");
  folder.write("zero/02-count-loads.txt", std::string("answer barriers: \0 1\n", 21));
  folder.write("turned \u202e/02-count-loads.txt", "answer barriers: 1\n");
  compare_class_with_golden("class-points", folder, "EX='1 2'", {"twice"});
}

namespace {

// An answer to exercise 7 with only wrong numbers.
std::string wrong_for(const std::string& name) {
  return "answer student: " + name + "\nanswer blocks_1: 0\nanswer limiter_1: blocks\n" +
         "answer percent_1: 0\nanswer change_1: a\n";
}

}  // namespace

TEST_CASE("numbers drawn for the names of a class are those of their golden file") {
  const testing::Folder folder;
  folder.write("Lovelace Ada_12_assignsubmission_file_07-occupancy.txt", wrong_for("ada lovelace"));
  folder.write("Jürgen Groß_13_assignsubmission_file_answer.txt", wrong_for("Juergen Gross"));
  folder.write("turingalan_5_6_Answer.TXT", wrong_for("Alan Turing"));
  folder.write("hoppergrace_LATE_5_7_07-Occupancy (1).txt", wrong_for("Ada, \"=1\" Lovelace"));
  folder.write("Emmy Noether/my answer.txt", wrong_for(""));
  folder.write("bob/07-occupancy.txt", wrong_for("=Bob\x1b[2J"));
  folder.write("of another/02-count-loads.txt", wrong_for("of another"));
  folder.write("of another/02-Count-Loads (1).txt", wrong_for("of another"));
  folder.write("Ada King_14_assignsubmission_file_02-count-loads.txt", wrong_for("Ada King"));
  folder.write("two files/a.txt", wrong_for("a"));
  folder.write("two files/b.txt", wrong_for("b"));
  // Right for the numbers that are drawn without a name.
  const std::string nameless = testing::contents("exercises/solutions/07-occupancy.txt");
  if (nameless.empty()) return;
  folder.write("nameless/07-occupancy.txt", nameless);
  compare_class_with_golden(
      "class-drawn", folder, "EX=7", {"hoppergrace", "turingalan", "nameless"});
}

TEST_CASE("an answer that takes too long in total is distinguished from a kernel that does") {
  const testing::Folder folder, tools;
  folder.write("slow/01-index-and-guard.cu", with("  while (M > 0) {\n    if (K < 0) break;\n  }"));
  const Output output = bash("ANSWER_S=4 " + grade_class(folder, "EX=1 LIMIT=30"));
  CAPTURE(output.out);
  CHECK(contains(testing::contents(folder / "class.csv"), "guard,too much CPU time,0,"));
  // As if an hour had passed.
  tools.write("timeout", "#!/bin/sh\nexit 124\n");
  const Output waiting = bash(
      "chmod +x '" + tools / "timeout" + "'; PATH='" + tools.path().string() + "':$PATH " +
      grade_class(folder, "EX=1"));
  CAPTURE(waiting.out);
  CHECK(contains(testing::contents(folder / "class.csv"), "guard,took too long,0,"));
  CHECK(contains(
      testing::contents(folder / "class-feedback/slow.txt"),
      "  compiling and running it was not done after 1200 s, in which it mostly waited\n"));
}

TEST_CASE("files with names like their exercise's, and what is left out, as in their golden file") {
  const testing::Folder folder;
  const std::string begun = with("  asm(nop);");
  for (const char* name :
       {"eve/exercise1.cu", "ann/01-index.cu", "\u674e\u96f7/EX_01 (2).CU", "bob/1.cu",
        "bob/01-index-and-guard.cu", "bob/Exercise 1 final.cu", "cai/solution.zip",
        "cai/02-count-loads.cu", "dan/answers/1.cu", "dan/12.cu", "dan/answers/deep/1.cu",
        "Fay_16_assignsubmission_file_exercise1.cu", "gay_5_6_01-index-2.cu"}) {
    folder.write(name, begun);
  }
  compare_class_with_golden("class-names", folder, "EX='1 2'");
}

TEST_CASE(
    "where the system grants no lock, a class is graded without it, and one message says so") {
  const testing::Folder folder, program;
  // Runs a command as on a system without the call that locks a process.
  program.write("without_lock.cpp", R"(
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
int main(int, char** command) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{4, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  execvp(command[1], command + 1);
}
)");
  const std::string launcher = program / "without_lock";
  REQUIRE(
      bash(". \"$BUILD/grade/environment\"; $CXX '" + launcher + ".cpp' -o '" + launcher + "'")
          .exit_code == 0);
  const std::string idle = with("  return;");
  folder.write("ann/01-index-and-guard.cu", idle);
  folder.write("bob/01-index-and-guard.cu", idle);
  const Output output = bash(
      "export DIR='" + folder.path().string() + "' EX=1 SEED=5; '" + launcher +
      "' src/school/grade/grade_class.sh");
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  const std::string sentence =
      "grade: this system grants no filter of system calls (Function not "
      "implemented), so the kernel runs under limits alone";
  const std::size_t place = output.out.find(sentence);
  CHECK(place != std::string::npos);
  CHECK(output.out.find(sentence, place + 1) == std::string::npos);
  CHECK(contains(
      testing::contents(folder / "class.csv"), "\n\"bob\",01-index-and-guard,failed,0,no,"));
  CHECK(!contains(testing::contents(folder / "class-feedback/bob.txt"), "grants no filter"));
}

}  // namespace grade
