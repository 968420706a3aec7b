#include "grade/student.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "testing/fuzz.h"
#include "testing/program.h"

namespace grade {

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

testing::Output bash(const std::string& command) {
  return testing::run("export BUILD='" + testing::built().string() + "'; exec 2>&1; " + command);
}

// An answer to exercise 7 in whose numbers all is wrong.
std::string wrong_for(const std::string& name) {
  return "answer student: " + name + "\nanswer blocks_1: 0\nanswer limiter_1: blocks\n" +
         "answer percent_1: 0\nanswer change_1: a\n";
}

}  // namespace

TEST_CASE("a name draws the same however it is spelt, and another name something else") {
  for (const std::vector<std::string>& spellings : std::vector<std::vector<std::string>>{
           {"Ada Lovelace", "ada lovelace", "LOVELACE, Ada", "lovelaceada", "Lovelace  Ada ",
            "ada.lovelace", "Ada-Lovelace"},
           {"Jürgen Groß", "jurgen gross", "Juergen Gross", "GROSS JÜRGEN", "Ju\u0308rgen Groß",
            "J\xFCrgen Gro\xDF"},
           {"Nguyễn Thị Ánh", "nguyen thi anh", "Ánh Nguyễn Thị", "ANHNGUYENTHI"},
           {"Łukasz Żółć", "lukasz zolc"},
           {"Đặng Bảo", "dang bao"},
           {"Siobhán O’Brien", "O'Brien Siobhan", "siobhan obrien"},
           {"Иван Петров", "ПЕТРОВ ИВАН", "петровиван"},
           {"Νίκος Παπάς", "ΠΑΠΑΣ ΝΙΚΟΣ"},
           {"李雷", "李 雷"},
           {"s1234567", "S 1234567"}}) {
    for (const std::string& spelling : spellings) {
      CAPTURE(spelling);
      CHECK(name_key(spelling) == name_key(spellings[0]));
    }
    CHECK(!name_key(spellings[0]).empty());
  }
  // The digits of a login keep their order.
  CHECK(name_key("s1234567") != name_key("s1234576"));
  CHECK(name_key("ada 12") != name_key("ada 1 2"));
  CHECK(name_key("Ada Lovelace") != name_key("Ada"));
  CHECK(name_key("李雷") != name_key("李"));
  CHECK(name_key(" -'.") == "");
}

TEST_CASE("the name in an answer counts, and it is known for another one than was asked for") {
  const auto said = [](const std::string& answer, const std::string& asked_for) {
    const Student student = student_of(answer, asked_for);
    return student.name + (student.is_another ? " (another)" : "");
  };
  CHECK(said("answer student: Ada Lovelace\n", "lovelaceada") == "Ada Lovelace");
  CHECK(said("  // answer student:  Ada \r\n", "Bob") == "Ada (another)");
  CHECK(said("answer student: Ada\n", "") == "Ada");
  CHECK(said("answer student:\nanswer blocks_1: 4\n", "Bob") == "Bob");
  CHECK(said("", "") == "");
  // Nothing that a terminal would obey, and one line.
  CHECK(said("answer student: A\x1b[31mda\n", "") == "A\\x1b[31mda");
}

TEST_CASE("a name in the class's table is no formula and takes one field") {
  CHECK(for_table("Lovelace, \"Ada\"") == "Lovelace   Ada");
  CHECK(for_table("=1+1") == "1+1");
  CHECK(for_table("@-+= ") == "");
}

TEST_CASE("any bytes have a key, and it does not depend on their order") {
  testing::Fuzz fuzz({"Ada Lovelace", "Jürgen", "李雷 12"}, {"é", "\u0308", "\xFF", " ", "7"});
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    const std::string name = fuzz.next(), key = name_key(name + " ");
    if (key != name_key(" " + name)) FAIL_CHECK("input ", i);
  }
}

TEST_CASE("exercise 7 keeps the name that it was begun with, and draws by it from then on") {
  // In a checkout of its own, in which answers/ is empty.
  const auto in_checkout = [](const std::string& command) {
    const testing::Folder folder;
    return bash(
               "here=$PWD; cd '" + folder.path().string() +
               "' && ln -s \"$here\"/* . && rm -f answers || exit 9\n" + command)
        .out;
  };
  const std::string begun = in_checkout(
      "STUDENT=\"Ada O'Lovelace\" src/grade/grade.sh 7; cat answers/07-occupancy.txt\n"
      "src/grade/grade.sh 7");
  CAPTURE(begun);
  CHECK(contains(begun, "answers/07-occupancy.txt is yours"));
  CHECK(contains(begun, "\nanswer student: Ada O'Lovelace\n"));
  CHECK(contains(begun, "\ndrawn for Ada O'Lovelace:\n"));
  CHECK(!contains(begun, "is another name"));
  CHECK(!contains(begun, "write it in"));
  CHECK(contains(
      in_checkout("src/grade/grade.sh 7"),
      "Your numbers are drawn by your name: write it in answers/07-occupancy.txt, behind \"answer "
      "student:\".\n"));
}

TEST_CASE("a class's answers are graded with the numbers of the names that they were drawn by") {
  const testing::Folder folder;
  const std::string nameless = testing::contents("exercises/solutions/07-occupancy.txt");
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
  if (!nameless.empty()) folder.write("nameless/07-occupancy.txt", nameless);

  const testing::Output output =
      bash("DIR='" + folder.path().string() + "' EX=7 SEED=5 JOBS=2 src/grade/grade_class.sh");
  CAPTURE(output.out);
  CHECK(output.exit_code == 0);
  const std::string table = testing::contents(folder / "class.csv");
  CAPTURE(table);
  const auto has_row = [&](const std::string& student, const std::string& rest) {
    return contains(table, "\n\"" + student + "\",07-occupancy," + rest);
  };
  CHECK(has_row("Lovelace Ada", "failed,0,–,–,no,ada lovelace,,5,"));
  CHECK(has_row("Jürgen Groß", "failed,0,–,–,no,Juergen Gross,,5,"));
  CHECK(has_row("turingalan", "failed,0,–,–,no,Alan Turing,,5,"));
  CHECK(has_row("hoppergrace", "another name,–,–,–,no,Ada   =1  Lovelace,,5,"));
  CHECK(has_row("Emmy Noether", "failed,0,–,–,no,Emmy Noether,,5,"));
  CHECK(has_row("bob", "another name,–,–,–,no,Bob\\x1b[2J,,5,"));
  // What is the answer to another exercise by its name is not taken for this one's.
  for (const char* student : {"two files", "of another", "Ada King"}) {
    CHECK(has_row(student, "not handed in,0,"));
  }
  CHECK(
      contains(output.out, "a folder of several files; name the one that counts 07-occupancy.txt"));
  CHECK(contains(output.out, "answers that say another name than the student's: 2"));

  const auto told = [&](const std::string& student) {
    return testing::contents(folder / ("class-feedback/" + student + ".txt"));
  };
  CHECK(contains(told("hoppergrace"), "\"hoppergrace\" is another name."));
  CHECK(contains(told("hoppergrace"), "is for the lecturer to say"));
  // What the class is told is not what the students have asked for.
  CHECK(!contains(told("hoppergrace"), "hint level"));
  CHECK(contains(told("turingalan"), "drawn for Alan Turing:"));
  CHECK(!contains(told("turingalan"), "is another name"));
  if (nameless.empty()) return;
  CHECK(has_row("nameless", "failed,0,–,–,no,nameless,,5,"));
  CHECK(contains(told("nameless"), "these answers are for the kernels drawn without a name"));
}

}  // namespace grade
