#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

namespace grade {

namespace fs = std::filesystem;

namespace {

struct Output {
  int exit_code;
  std::string text;  // stdout and stderr
};

// Where `make grader` has built: beside the tests.
std::string built() {
  return fs::read_symlink("/proc/self/exe").parent_path().string();
}

Output bash(const std::string& command) {
  std::FILE* out =
      popen(("export BUILD='" + built() + "'; { " + command + "; } 2>&1 < /dev/null").c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  char part[4096];
  while (std::fgets(part, sizeof part, out) != nullptr) text += part;
  const int status = pclose(out);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A folder of its own, which goes when the test is over.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("class_tests_" + std::to_string(getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
  const fs::path path;
};

const std::string kFirst = "exercises/01-index-and-guard/";
const std::string kFourth = "exercises/04-tile-and-barriers/";

std::string grade_class(const Folder& folder, const std::string& settings) {
  return "DIR='" + folder.path.string() + "' JOBS=2 LIMIT=1 SEED=5 " + settings +
         " src/grade/grade_class.sh";
}

}  // namespace

TEST_CASE("a class is graded: a row for every student and exercise, and copies are found") {
  const Folder folder;
  const std::string wrong = contents(kFirst + "wrong/no_guard.cu");
  folder.write("wrong, \"Ann\"/01-index-and-guard.cu", wrong);
  folder.write(
      "wrong, \"Ann\"/grades.csv",
      "date,exercise,seed,hint,verdict\n"
      "2026-01-01T00:00:00Z,01-index-and-guard,1,1,failed\n"
      "2026-01-01T00:00:00Z,03-coalesce,1,2,failed\n");
  folder.write(
      "broken/answers/01-index-and-guard.cu",
      std::regex_replace(wrong, std::regex("const int row"), "const in row"));
  folder.write("endless/01-index-and-guard.cu", contents("src/grade/deceptions/endless.cu"));
  folder.write("cheater/01-index-and-guard.cu", contents("src/grade/deceptions/exits.cu"));
  // Other names and comments, the same program.
  std::string copied = std::regex_replace(wrong, std::regex("\\bk\\b"), "step");
  copied = std::regex_replace(copied, std::regex("\\bsum\\b"), "total");
  folder.write(
      "copier/01-index-and-guard.cu",
      std::regex_replace(copied, std::regex("; \\+\\+step"), "; ++step /* mine */"));
  fs::create_directories(folder.path / "idle");
  const bool solved = fs::exists("exercises/solutions/01-index-and-guard.cu");
  if (solved) {
    folder.write(
        "good/01-index-and-guard.cu", contents("exercises/solutions/01-index-and-guard.cu"));
  } else {
    std::puts("left out: no solution is here to be graded");
  }
  // What might lead out of the folder, or into a spreadsheet's formulas.
  folder.write("=1+1/01-index-and-guard.cu", wrong);
  folder.write("line\nbreak/01-index-and-guard.cu", wrong);
  fs::create_directories(folder.path / "linker");
  fs::create_symlink(
      fs::absolute(kFirst + "wrong/no_guard.cu"), folder.path / "linker/01-index-and-guard.cu");

  const Output output = bash(grade_class(folder, "EX=1"));
  CAPTURE(output.text);
  CHECK(output.exit_code == 0);
  const std::string table = contents(folder.path / "class.csv");
  CAPTURE(table);
  const auto has_row = [&](const std::string& row) { return contains(table, "\n" + row); };
  CHECK(table.starts_with("student,exercise,verdict,right,hazard_free,target,hint,seed,sha256\n"));
  CHECK(has_row("\"wrong, \"\"Ann\"\"\",01-index-and-guard,failed,no,no,no,1,5,"));
  CHECK(has_row("\"broken\",01-index-and-guard,did not compile,,,,,5,"));
  CHECK(has_row("\"endless\",01-index-and-guard,timed out,no,,,,5,"));
  CHECK(has_row("\"cheater\",01-index-and-guard,refused,,,,,5,"));
  CHECK(has_row("\"copier\",01-index-and-guard,failed,no,no,no,,5,"));
  CHECK(has_row("\"idle\",01-index-and-guard,not handed in,,,,,5,"));
  CHECK(has_row("\"linker\",01-index-and-guard,not handed in,,,,,5,"));
  if (solved) CHECK(has_row("\"good\",01-index-and-guard,passed,yes,yes,yes,,5,"));
  CHECK(!contains(table, "1+1"));
  CHECK(contains(output.text, "2 folders left out"));
  CHECK(contains(
      contents(folder.path / "class-pairs.csv"),
      "\"01-index-and-guard\",\"copier\",\"wrong, \"\"Ann\"\"\",1.00,no\n"));
  CHECK(!fs::exists(folder.path / "class.csv.partial"));
}

TEST_CASE("a class's grading that was interrupted goes on, and grades nothing twice") {
  const Folder folder;
  const std::string answer = contents(kFourth + "wrong/no_second_barrier.cu");
  folder.write("ada/04-tile-and-barriers.cu", answer);
  folder.write("bob/04-tile-and-barriers.cu", answer + "\n");
  const std::string digest =
      bash("sha256sum < '" + (folder.path / "ada/04-tile-and-barriers.cu").string() + "'")
          .text.substr(0, 16);
  // A verdict that cannot be, so that it shows whether it was kept; one of a file that has changed
  // since; and the beginning of a row.
  folder.write(
      "class.csv.partial", "# seed 77\n\"ada\",04-tile-and-barriers,passed,yes,yes,yes,,77," +
                               digest + "\n" +
                               "\"bob\",04-tile-and-barriers,passed,yes,yes,yes,,77," +
                               std::string(16, '0') + "\n\"bob\",04-ti");
  const std::string partial = (folder.path / "class.csv.partial").string();
  const Output other_seed = bash(grade_class(folder, "EX=4"));
  CHECK(other_seed.exit_code == 2);
  CHECK(
      other_seed.text ==
      "grade-class: " + partial + " was begun with SEED=77; remove it to begin anew\n");
  const Output output = bash(grade_class(folder, "EX=4 SEED="));
  CAPTURE(output.text);
  CHECK(output.exit_code == 0);
  const std::string table = contents(folder.path / "class.csv");
  CAPTURE(table);
  CHECK(contains(table, "\"ada\",04-tile-and-barriers,passed,yes,yes,yes,,77," + digest + "\n"));
  CHECK(contains(table, "\"bob\",04-tile-and-barriers,failed,no,no,yes,,77,"));
  CHECK(!contains(table, std::string(16, '0')));
  CHECK(!fs::exists(partial));
}

TEST_CASE("what grade-class cannot make sense of is refused in a sentence") {
  const Folder folder;
  const std::string where = "DIR=" + folder.path.string() + " ";
  for (const auto& [settings, sentence] : {
           std::pair{std::string("DIR="), "which folder? make grade-class DIR=submissions"},
           {"DIR=/nowhere/at/all", "DIR=/nowhere/at/all: there is no such folder"},
           {where, "holds no folder of a student"},
           {where + "JOBS=0", "JOBS=0: give a whole number, for example JOBS=4"},
           {where + "SEED=x", "SEED=x: give a whole number"},
           {where + "LIMIT=1e9", "LIMIT=1e9: give seconds"},
           {where + "SIMILAR=2", "SIMILAR=2: give the part that two answers share"},
           {where + "EX=99", "EX=99: no such exercise"},
           {where + "OUT=table", "OUT=table: give a file that ends in .csv"},
           {where + "OUT=/nowhere/a.csv", "OUT=/nowhere/a.csv: cannot be written"},
       }) {
    const Output output = bash(settings + " src/grade/grade_class.sh");
    CAPTURE(settings);
    CAPTURE(output.text);
    CHECK(output.exit_code == 2);
    CHECK(contains(output.text, sentence));
  }
}

TEST_CASE("the highest hint level is recorded and told, and a level that is none is refused") {
  const Folder folder;
  const std::string record = (folder.path / "grades.csv").string();
  const std::string grade = "RECORD='" + record + "' SEED=5 src/grade/grade.sh 1 ";
  const std::string wrong = kFirst + "wrong/no_guard.cu";
  CHECK(
      bash("HINT=3 " + grade + wrong).text ==
      "HINT=3: give 0 (the symptom), 1 (where to look) or 2 (line and thread)\n");
  CHECK(!fs::exists(record));
  CHECK(bash("HINT=1 " + grade + wrong).exit_code == 1);
  CHECK(contains(bash(grade + wrong).text, "hint level 1 is the highest used so far"));
  const std::regex lines(
      "date,exercise,seed,hint,verdict\n"
      "[-0-9]{10}T[:0-9]{8}Z,01-index-and-guard,5,1,failed\n"
      "[-0-9]{10}T[:0-9]{8}Z,01-index-and-guard,5,0,failed\n");
  CHECK(std::regex_match(contents(record), lines));
}

TEST_CASE("a hint of level 2 says which index an array does not have, and of which dimension") {
  const Folder folder;
  const std::string answer = std::regex_replace(
      contents(kFourth + "wrong/no_second_barrier.cu"), std::regex("As\\[k\\]\\[row\\]"),
      "As[k + 1][row]");
  folder.write("04-tile-and-barriers.cu", answer);
  const Output output = bash(
      "SEED=5 HINT=2 src/grade/grade.sh 4 '" + (folder.path / "04-tile-and-barriers.cu").string() +
      "' | tr -s ' \\n' '  '");
  CAPTURE(output.text);
  CHECK(contains(output.text, "FAILED an index that its array does not have"));
  CHECK(contains(
      output.text,
      "multiply, block (0, 0): thread (0, 0) takes index 8 of As on line 31, in a dimension of 8: "
      "from 0 to 7"));
}

TEST_CASE("an answer in any folder called src is told the line where it was stopped") {
  const Folder folder;
  folder.write("src/01-index-and-guard.cu", contents("src/grade/deceptions/endless.cu"));
  const std::string answer = (folder.path / "src/01-index-and-guard.cu").string();
  const Output output = bash("SEED=5 HINT=2 LIMIT=1 src/grade/grade.sh 1 '" + answer + "'");
  CAPTURE(output.text);
  CHECK(output.exit_code == 4);
  CHECK(std::regex_search(output.text, std::regex("line    " + answer + ":[34]\n")));
}

TEST_CASE("an answer is shown and stepped through, also one that fails") {
  const Folder folder;
  const std::string record = (folder.path / "grades.csv").string();
  const std::string page = (folder.path / "page.html").string();
  const std::string settings = "RECORD='" + record + "' LIMIT=1 PAGE='" + page + "' ";
  const std::string racing = kFourth + "wrong/no_second_barrier.cu";

  const Output shown = bash("INSPECT=show " + settings + "src/grade/grade.sh 4 " + racing);
  CAPTURE(shown.text);
  CHECK(shown.exit_code == 1);
  CHECK(contains(shown.text, "exercise 04-tile-and-barriers: M 16, N 32, K 16, seed 1"));
  CHECK(contains(shown.text, "race on As"));
  CHECK(contains(shown.text, "SMEM store of As"));
  CHECK(contains(contents(page), "<svg"));
  CHECK(contains(contents(record), ",04-tile-and-barriers,1,2,shown\n"));

  const Output stepped = bash(
      "INSPECT=step INSPECT_FLAGS='--until hazard --print' " + settings + "src/grade/grade.sh 4 " +
      racing);
  CAPTURE(stepped.text);
  CHECK(stepped.exit_code == 1);
  CHECK(contains(stepped.text, "As 8 x 16"));
  CHECK(contains(stepped.text, "with no barrier between them"));

  // Of A, column by column in this exercise, what lies together is shown as a row.
  const Output columns = bash(
      "INSPECT=step INSPECT_FLAGS='--frame 1 --print' " + settings +
      "src/grade/grade.sh 3 exercises/03-coalesce/wrong/c_by_rows.cu");
  CAPTURE(columns.text);
  CHECK(std::regex_search(
      columns.text, std::regex("A \\d+ x (\\d+) [^]*C \\(\\1 x |C \\((\\d+) x [^]*A \\d+ x \\2 ")));

  // So is C: a warp for each of its columns.
  const Output by_columns = bash(
      "INSPECT=show " + settings + "src/grade/grade.sh 3 exercises/03-coalesce/wrong/a_by_rows.cu");
  CAPTURE(by_columns.text);
  CHECK(contains(by_columns.text, "columns 0 to 16 of C"));
  CHECK(contains(by_columns.text, "\n  0123456789abcdefg\n  0123456789abcdefg\n"));

  const Output endless =
      bash("INSPECT=show " + settings + "src/grade/grade.sh 1 src/grade/deceptions/endless.cu");
  CHECK(endless.exit_code == 1);
  CHECK(contains(endless.text, "it is still running after 1 s, perhaps in an endless loop"));

  const Output early =
      bash("INSPECT=show " + settings + "src/grade/grade.sh 2 exercises/02-count-loads/start.txt");
  CHECK(early.exit_code == 2);
  CHECK(contains(early.text, "is to be answered before there is something to see"));

  const Output sized =
      bash("INSPECT=step INSPECT_FLAGS='--size 64' " + settings + "src/grade/grade.sh 4 " + racing);
  CHECK(sized.exit_code == 2);
  CHECK(contains(sized.text, "an exercise draws its own shapes"));
}

}  // namespace grade
