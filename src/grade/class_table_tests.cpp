// The table of a class: what is read, which points are given, and what each student is told.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <string>

#include "testing/program.h"

namespace grade {

namespace fs = std::filesystem;

namespace {

testing::Output bash(const std::string& command) {
  return testing::run("export BUILD='" + testing::built().string() + "'; exec 2>&1; " + command);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string grade_class(const testing::Folder& folder, const std::string& settings) {
  return "DIR='" + folder.path().string() + "' JOBS=2 LIMIT=3 SEED=5 " + settings +
         " src/grade/grade_class.sh";
}

// The first exercise's kernel with this code.
std::string with(const std::string& code) {
  return std::regex_replace(
      testing::contents("exercises/01-index-and-guard/kernel.cu"),
      std::regex("  // ---- end of your code"), code + "\n  // ---- end of your code");
}

}  // namespace

TEST_CASE(
    "what learning platforms export is graded, and what is no plain file is not even opened") {
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

  const testing::Output output = bash("HINT=1 " + grade_class(folder, "EX=1"));
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  const std::string table = testing::contents(folder / "class.csv");
  CAPTURE(table);
  const auto has_row = [&](const std::string& student, const std::string& rest) {
    return contains(table, "\n\"" + student + "\",01-index-and-guard," + rest);
  };
  CHECK(has_row("J\u00fcrgen, \"\"J\"\"", "refused,0,–,–,–,–,2,5,"));
  CHECK(has_row("Ada L", "refused,"));
  CHECK(has_row("Same Name_14", "refused,"));
  CHECK(has_row("Same Name_15", "nothing written yet,0,–,–,–,–,,5,"));
  CHECK(has_row("turingalan", "nothing written yet,"));
  CHECK(has_row("jdoe", "refused,"));
  CHECK(has_row("large", "refused,0,–,–,–,–,,5,more than 1 MB\n"));
  for (const char* name : {"fifo", "device", "folder"}) CHECK(has_row(name, "not handed in,0,"));
  CHECK(std::count(table.begin(), table.end(), '\n') == 11);
  CHECK(contains(output.out, "notes.txt: left out, it is no answer to an exercise by its name"));
  CHECK(contains(output.out, "fifo/01-index-and-guard.cu: left out, it is no plain file"));
  CHECK(contains(output.out, "device/01-index-and-guard.cu: left out, it is a link"));
  CHECK(contains(output.out, "10 students, 1 exercises"));

  // What each is told, in the words of the hint level and without paths of this machine.
  const std::string told = testing::contents(folder / "class-feedback/Ada L.txt");
  CHECK(told.starts_with("Ada L\n\n01-index-and-guard: refused, 0 of 3 points\n"));
  CHECK(contains(told, "\n  01-index-and-guard.cu:8: asm: inline PTX"));
  CHECK(contains(testing::contents(folder / "class-feedback/fifo.txt"), ": not handed in\n"));
  CHECK(fs::exists(folder.path() / "class-feedback/J\u00fcrgen, \"J\".txt"));

  // Another run replaces all of it, and takes none of it for a student's.
  hand_in("class-feedback/old.txt", "");
  const testing::Output again = bash(grade_class(folder, "EX=1"));
  CAPTURE(again.out);
  CHECK(contains(again.out, "10 students, 1 exercises"));
  CHECK(!fs::exists(folder.path() / "class-feedback/old.txt"));
  CHECK(!fs::exists(folder.path() / "class.csv.partial-feedback"));
}

TEST_CASE(
    "a class's points: one for right, and where it is, one for no hazard and one for the target") {
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
  const testing::Output output = bash(grade_class(folder, "EX='1 2'"));
  CAPTURE(output.out);
  const std::string table = testing::contents(folder / "class.csv");
  CAPTURE(table);
  CHECK(!contains(output.out, "warning"));
  CHECK(!contains(output.out, "\u202e"));
  CHECK(contains(output.out, "left out, it is a name with a line break or another control"));
  CHECK(contains(table, "\"nothing done\",01-index-and-guard,failed,0,no,–,–,–,"));
  CHECK(contains(table, "\"right\",01-index-and-guard,passed,3,yes,yes,yes,"));
  CHECK(contains(table, "\"twice\",01-index-and-guard,failed,2,yes,yes,no,"));
  CHECK(contains(table, "\"formulas\",02-count-loads,failed,0,–,–,no,"));
  CHECK(contains(
      testing::contents(folder / "class-feedback/twice.txt"),
      "01-index-and-guard: failed, 2 of 3 points\n"));
}

TEST_CASE("an answer that takes too long altogether is told from a kernel that does") {
  const testing::Folder folder;
  folder.write("slow/01-index-and-guard.cu", with("  while (M > 0) {\n    if (K < 0) break;\n  }"));
  const testing::Output output = bash("ANSWER_S=1 " + grade_class(folder, "EX=1 LIMIT=30"));
  CAPTURE(output.out);
  CHECK(contains(testing::contents(folder / "class.csv"), "guard,took too long,0,"));
  CHECK(contains(
      testing::contents(folder / "class-feedback/slow.txt"),
      "  compiling and running it took more than 1 s altogether\n"));
}

TEST_CASE("where the system grants no lock, a class is graded without, and that is said once") {
  const testing::Folder folder, program;
  // Runs a command as on a system that does not know the call which locks.
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
  const testing::Output output = bash(
      "export DIR='" + folder.path().string() + "' EX=1 SEED=5; '" + launcher +
      "' src/grade/grade_class.sh");
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  const std::string sentence =
      "grade: this system grants no filter of system calls (Function not "
      "implemented), so the kernel runs under limits alone";
  const std::size_t said = output.out.find(sentence);
  CHECK(said != std::string::npos);
  CHECK(output.out.find(sentence, said + 1) == std::string::npos);
  CHECK(contains(
      testing::contents(folder / "class.csv"), "\n\"bob\",01-index-and-guard,failed,0,no,"));
  CHECK(!contains(testing::contents(folder / "class-feedback/bob.txt"), "grants no filter"));
}

}  // namespace grade
