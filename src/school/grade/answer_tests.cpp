#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "model/refusal.h"
#include "school/grade/answer.h"
#include "school/grade/kernel_rules.h"
#include "testing/fuzz.h"
#include "testing/program.h"

namespace grade {

namespace {

std::vector<std::string> solutions() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator("exercises/solutions")) {
    if (entry.is_regular_file()) files.push_back(testing::contents(entry.path()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

testing::Fuzz changed_solutions() {
  std::vector<std::string> words =
      testing::words_of("answer : /* */ // ' \" 1'000 %: <:: asm é \x1b[31m");
  const std::string begins = kRegionBegins, ends = kRegionEnds;
  for (const std::string& word :
       {begins + "\n", ends + "\n", std::string("answer why: "), std::string("// answer "),
        std::string("\\\n"), std::string("#pragma unroll\n"), std::string("#include <x>\n"),
        std::string("\r\n"), std::string(3000, 'x')})
    words.push_back(word);
  return testing::Fuzz(solutions(), words);
}

}  // namespace

// `make check-exercises` grades some 500 other answers, too. Exercises without solutions (a
// lecturer may leave them out) are skipped, with a message.
TEST_CASE("solutions pass, and skeletons fail") {
  const testing::Output check = testing::run(
      "GEMM_STEPS_SOLUTIONS=1 src/school/grade/check.sh '" + testing::built().string() + "' 2>&1");
  CAPTURE(check.out);
  CHECK(check.exit_code == 0);
}

TEST_CASE("an answer is a name and a text, also in a comment, and two of one name are refused") {
  const auto answers =
      answers_in("// answer a: 1\r\nanswer b :  x: y \nanswer c:\nanswer\nanswer : d");
  CHECK(answers == std::map<std::string, std::string>{{"a", "1"}, {"b", "x: y"}});
  CHECK_THROWS_WITH_AS(
      answers_in("answer a: 1\nanswer a: 1"), "two lines answer a: leave only one of them",
      model::Refusal);
}

TEST_CASE("a formula may have the signs with which our texts print it") {
  CHECK(answers_in("answer f: 2·M × ⌈N/BN⌉ − 1").at("f") == "2*M * ceil(N/BN) - 1");
}

TEST_CASE("any text is scanned for answers, and each one found is on one line") {
  testing::Fuzz fuzz = changed_solutions();
  std::size_t found = 0;
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    const std::string text = fuzz.next();
    std::map<std::string, std::string> answers;
    try {
      answers = answers_in(text);
    } catch (const model::Refusal&) {  // two of one name
    }
    for (const auto& [name, answer] : answers) {
      ++found;
      if (name.empty() || answer.empty() || answer.find('\n') != answer.npos) {
        FAIL_CHECK("input ", i, ": ", text::echoed(name), ": ", text::echoed(answer));
      }
    }
  }
  CHECK(found > 0);
}

TEST_CASE("any answer is cut out and put together for the compiler, or refused in a sentence") {
  testing::Fuzz fuzz = changed_solutions();
  const std::vector<std::string> all = solutions();
  std::vector<std::string> skeletons;
  for (const std::string& solution : all) skeletons.push_back(emptied(solution));
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); },
      [&](const std::string& answer) {
        const std::string text = assembled(fuzz.one_of(skeletons), answer, "answer.cu");
        REQUIRE(!text.empty());
      });
}

}  // namespace grade

// The output of build/grade/assemble for an answer, byte by byte. The lists of edits in
// src/school/grade/check.sh cannot describe such files.
namespace grade {

namespace {

struct Assembled {
  int exit_code;
  std::string text;
};

const std::string kBefore = "void f(int K) {\n  // ---- your code ----\n";
const std::string kBehind = "  // ---- end of your code ----\n}\n";

// `answer` put into an empty kernel. Its name is left out of the output.
Assembled assembled(const std::string& answer) {
  const testing::Folder folder;
  folder.write("kernel.cu", kBefore + kBehind);
  folder.write("mine.cu", answer);
  const testing::Output output = testing::run(
      "cd '" + folder.path().string() + "' && '" + (testing::built() / "grade/assemble").string() +
      "' kernel.cu mine.cu 2>&1");
  return {output.exit_code, output.out};
}

Assembled of_region(const std::string& region) {
  return assembled(kBefore + region + kBehind);
}

}  // namespace

TEST_CASE("an answer may have Windows' line ends, a byte order mark, and no line end at its end") {
  const std::string answer = kBefore + "  K = 1;\n" + kBehind;
  std::string windows;
  for (const char c : answer) windows += c == '\n' ? "\r\n" : std::string(1, c);
  const Assembled plain = assembled(answer);
  REQUIRE(plain.exit_code == 0);
  CHECK(plain.text.find("  K = 1;\n") != plain.text.npos);
  CHECK(assembled(windows).text == plain.text);
  CHECK(assembled("\xef\xbb\xbf" + answer).text == plain.text);
  CHECK(assembled(answer.substr(0, answer.size() - 3)).text == plain.text);
  // Without the rest of the file, the lines have other numbers.
  const std::string alone = answer.substr(answer.find("  // ----"));
  CHECK(assembled("\xef\xbb\xbf" + alone.substr(0, alone.size() - 3)).exit_code == 0);
}

TEST_CASE("an answer with nothing between its marked lines gets that message, and exit code 1") {
  for (const char* region : {"", "\n", "  \t\n\n"}) {
    const Assembled nothing = of_region(region);
    CHECK(nothing.exit_code == 1);
    CHECK(nothing.text.starts_with("mine.cu: nothing written yet; "));
  }
  const testing::Folder folder;
  for (const char* text : {"", " \r\n\t\n"}) {
    folder.write("mine.txt", text);
    for (const char* exercise : {"1", "2", "7"}) {
      const testing::Output graded = testing::bash(
          std::string("src/school/grade/grade.sh ") + exercise + " '" + folder / "mine.txt" + "'");
      CHECK(graded.exit_code == 1);
      CHECK(graded.out.find("mine.txt: nothing written yet; ") != graded.out.npos);
    }
  }
}

TEST_CASE("a region is a scope of its own") {
  const std::string text = of_region("  const int K = 1;  // no end\n").text;
  const std::size_t code = text.find("const int K");
  REQUIRE(code != text.npos);
  CHECK(text.rfind("{\n#line", code) > text.find("your code ----"));
  CHECK(text.find("\n}\n#line", code) < text.find("end of your code"));
}

TEST_CASE("a byte that some compilers take for a line end is refused, even in a comment") {
  for (const char c : {'\r', '\v', '\f', '\b', '\x1b'}) {
    const Assembled refused = of_region(std::string("  K = 1; // ") + c + " exit(0);\n");
    CHECK(refused.exit_code == 2);
    CHECK(
        refused.text == "mine.cu:3: a control character, byte " + std::to_string(c) +
                            ", stands in this line; type it anew\n");
  }
}

TEST_CASE("comments may hold what code may not") {
  CHECK(
      of_region("  // größer – \"it's\" 100 % C:\\temp\\x $ @ #define ::exit(0) asm\n").exit_code ==
      0);
  CHECK(of_region("  /* 行 \\alpha /* ' */ K = 1;\n").exit_code == 0);
  CHECK(of_region("  K = 1; // to \\\n").exit_code == 2);
  CHECK(of_region("  K = 1; // to \\ \t\n").exit_code == 2);
  CHECK(of_region("  int größer = 1;\n").exit_code == 2);
}

TEST_CASE("shuffles, votes and atomics are refused in a sentence, and similar names are not") {
  for (const char* name :
       {"__shfl_sync", "__shfl_xor_sync", "__shfl", "__ballot_sync", "__any_sync", "__all",
        "__match_any_sync", "__reduce_add_sync", "__activemask", "__syncthreads_or",
        "__syncthreads_count", "atomicAdd", "atomicCAS", "atomicExch_block"}) {
    CAPTURE(name);
    const Assembled refused = of_region("  K = 1;\n  K = " + std::string(name) + "(K);\n");
    CHECK(refused.exit_code == 2);
    CHECK(
        refused.text == "mine.cu:4: " + std::string(name) +
                            ": shuffles, votes and atomics hand values from thread to thread past "
                            "what the targets count; use __shared__ and barriers\n");
  }
  CHECK(of_region("  int atomic = 1, all_rows = 2, shfl = 3, reduce_k = 4;\n").exit_code == 0);
  CHECK(of_region("  __syncthreads(); __syncwarp();\n").exit_code == 0);
}

TEST_CASE(
    "a region may have types of its own and constants, but no static variable and no library") {
  for (const char* code :
       {"struct Place { int row; int next() const { return row + 1; } }; Place at{K}; at.next();",
        "using tile_t = float[4][4]; tile_t tile = {}; typedef int index_t; index_t(K);",
        "enum class Step : int { one = 1 }; K = static_cast<int>(Step::one);",
        "if (not (K < 1) and (K > 2)) K = (K == 3) or (K == 4);",
        "std::size_t k = 0xAB'CD'EF; const std::uint32_t n = 1'000'000u;",
        "struct At { At(int r, int c) : row(r), col(c) {} int row, col; }; const At at(K, 1);",
        "auto twice = [=] __device__ (int i) { return 2 * i; }; twice(K);",
        "[[maybe_unused]] static const int pad = 4; static constexpr int width = 8;",
        "struct Math { static int twice(int i) { return 2 * i; } }; Math::twice(K);",
        "const dim3 block = blockIdx; const uint3 thread = threadIdx;"}) {
    CAPTURE(code);
    CHECK(of_region(std::string("  ") + code + "\n").exit_code == 0);
  }
  for (const char* code :
       {"std::min(1, 2);", "namespace a = b;", "using std::abs;", "cudaMalloc(&C, K);",
        "static int kept = 0;", "static int kept(0);", "static int kept{0};",
        "[[gnu::section(K)]] int x;", "int a = 1'a';"}) {
    CAPTURE(code);
    CHECK(of_region(std::string("  ") + code + "\n").exit_code == 2);
  }
}

TEST_CASE("#pragma unroll may be written in every way; no other preprocessor line is allowed") {
  for (const char* line :
       {"#pragma unroll", " # pragma  unroll 4 // four", "#pragma unroll (BK)",
        "\t#pragma unroll(TM)"}) {
    CAPTURE(line);
    CHECK(of_region(std::string(line) + "\n  for (;;) {}\n").exit_code == 0);
  }
  for (const char* line :
       {"#pragma unroll /* to", "#pragma once", "#pragma", "#", "#define K 1",
        "#pragma unroll _Pragma(\"x\")", "# line 1"}) {
    CAPTURE(line);
    CHECK(of_region(std::string(line) + "\n  for (;;) {}\n").exit_code == 2);
  }
  CHECK(
      of_region("#define K 1\n").text.find("write a constexpr constant or a lambda") !=
      std::string::npos);
}

namespace {

using testing::bash, testing::contains;

}  // namespace

TEST_CASE("a name draws the same numbers in any spelling, and another name draws others") {
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

TEST_CASE("the name in an answer counts, and a name other than the requested one is noticed") {
  const auto text = [](const std::string& answer, const std::string& asked_for) {
    const Student student = student_of(answer, asked_for);
    return student.name + (student.is_another ? " (another)" : "");
  };
  CHECK(text("answer student: Ada Lovelace\n", "lovelaceada") == "Ada Lovelace");
  CHECK(text("  // answer student:  Ada \r\n", "Bob") == "Ada (another)");
  CHECK(text("answer student: Ada\n", "") == "Ada");
  CHECK(text("answer student:\nanswer blocks_1: 4\n", "Bob") == "Bob");
  CHECK(text("", "") == "");
  // One line, without control sequences of a terminal.
  CHECK(text("answer student: A\x1b[31mda\n", "") == "A\\x1b[31mda");
}

TEST_CASE("a name in the class's table is not a formula, and takes one field") {
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

TEST_CASE("exercise 7 keeps the first name that it was graded with, and draws its numbers by it") {
  // In a checkout of its own, in which answers/ is empty.
  const auto in_checkout = [](const std::string& command) {
    const testing::Folder folder;
    return bash(
               "here=$PWD; cd '" + folder.path().string() +
               "' && ln -s \"$here\"/* . && rm -f answers || exit 9\n" + command)
        .out;
  };
  const std::string begun = in_checkout(
      "STUDENT=\"Ada O'Lovelace\" src/school/grade/grade.sh 7; cat answers/07-occupancy.txt\n"
      "src/school/grade/grade.sh 7");
  CAPTURE(begun);
  CHECK(contains(begun, "answers/07-occupancy.txt is yours"));
  CHECK(contains(begun, "\nanswer student: Ada O'Lovelace\n"));
  CHECK(contains(begun, "\ndrawn for Ada O'Lovelace:\n"));
  CHECK(!contains(begun, "is another name"));
  CHECK(!contains(begun, "write it in"));
  CHECK(contains(
      in_checkout("src/school/grade/grade.sh 7"),
      "Your numbers are drawn by your name: write it in answers/07-occupancy.txt, behind \"answer "
      "student:\".\n"));
}

TEST_CASE("the first grading makes the answer's file, and one that passes names what comes next") {
  const auto graded = [](const std::string& number, const std::string& name) {
    return bash(
        "folder=$(mktemp -d); here=$PWD; cd $folder && ln -s \"$here\"/* . && rm -f answers\n"
        "src/school/grade/grade.sh " +
        number + " && cp exercises/solutions/" + name + " answers && src/school/grade/grade.sh " +
        number + "; code=$?; rm -rf $folder; exit $code");
  };
  if (!std::filesystem::exists("exercises/solutions")) return;
  const testing::Output second = graded("2", "02-count-loads.txt");
  CAPTURE(second.out);
  CHECK(second.exit_code == 0);
  CHECK(
      second.out.ends_with("next      make grade EX=3 (Coalesce)\n"
                           "          Before it: the walkthrough's chapter 2.\n"));
  const testing::Output wire = graded("17", "17-mma.cu");
  CHECK(
      wire.out.ends_with("next      make grade EX=18 (Bytes on the wire)\n"
                         "          Before it: the walkthrough's chapter\n"
                         "          More than one GPU.\n"));
}

// With Q = 5, M*(K - K/Q) is 4*M*K/Q, which is another mistake. This seed draws it first.
TEST_CASE("a formula that equals a typical mistake in only one case is not called that mistake") {
  const testing::Folder folder;
  folder.write("answer.txt", "answer received_1d: M*(K - K/Q)\n");
  const testing::Output graded =
      bash("SEED=40 HINT=2 src/school/grade/grade.sh 18 '" + folder / "answer.txt" + "'");
  CAPTURE(graded.out);
  CHECK(graded.exit_code == 1);
  CHECK(graded.out.find(", Q 5,") != std::string::npos);
  CHECK(graded.out.find("that is the number of floats; a float has 4 bytes") != std::string::npos);
}

namespace {

// An answer, or a user's file, whose compilation takes unlimited time or memory.

// Each of these values takes seconds to compute, and there are many.
const char* const kEndless =
    "  constexpr auto sum = [](int n) {\n"
    "    int all = 0;\n"
    "    for (int i = 0; i < n; ++i) {\n"
    "      for (int k = 0; k < 160; ++k) all += k;\n"
    "    }\n"
    "    return all;\n"
    "  };\n"
    "  constexpr int s0 = sum(200000), s1 = sum(200001), s2 = sum(200002), s3 = sum(200003);\n"
    "  constexpr int s4 = sum(200004), s5 = sum(200005), s6 = sum(200006), s7 = sum(200007);\n";

std::string with_endless_constants(const std::string& file, const std::string& before) {
  std::string text = testing::contents(file);
  return text.insert(text.find(before), kEndless);
}

testing::Output limited(const std::string& settings, const std::string& command) {
  return testing::run(settings + " src/try/limited.sh yours.cu " + command);
}

}  // namespace

TEST_CASE("an endless constant expression is reported as such, by the grader and by make try") {
  const testing::Folder folder;
  folder.write(
      "01-index-and-guard.cu",
      with_endless_constants(
          "exercises/01-index-and-guard/kernel.cu", "  // ---- end of your code"));
  const std::string answer = folder / "01-index-and-guard.cu";
  folder.write("work/none", "");
  const testing::Output graded = bash(
      "COMPILE_S=1 WORK='" + folder / "work" + "' src/school/grade/grade.sh 1 '" + answer + "'");
  CHECK(graded.exit_code == 5);
  CHECK(
      graded.out == answer +
                        ": took too long to compile: more than 1 s of processor time; "
                        "COMPILE_S= allows more\n");
  CHECK(std::distance(std::filesystem::directory_iterator(folder / "work"), {}) == 1);

  folder.write("naive.cu", with_endless_constants("examples/naive.cu", "  float sum = 0;"));
  const testing::Output tried = bash(
      "COMPILE_S=1 KERNEL='" + folder / "naive.cu" + "' src/try/try.sh compile '" + folder / "out" +
      "'");
  CHECK(tried.exit_code == 1);
  CHECK(tried.out.find("took too long to compile: more than 1 s") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "out.traced.o"));
}

TEST_CASE("a compiler's excess of time or memory is reported, and no file of its work is left") {
  const testing::Folder folder;
  const std::string here = "TMPDIR='" + folder.path().string() + "'";
  const testing::Output memory =
      limited(here + " COMPILE_GB=1", "dd if=/dev/zero of=/dev/null bs=2G count=1");
  CHECK(memory.exit_code == 124);
  CHECK(
      memory.err == "yours.cu: needs more memory to compile than 1 GB; COMPILE_GB= allows more\n");
  const testing::Output size = limited(here, "bash -c 'head -c 300M /dev/zero > $TMPDIR/out'");
  CHECK(size.exit_code == 124);
  CHECK(size.err == "yours.cu: is too large after compilation: a file of more than 256 MB\n");
  const testing::Output time = limited(here + " COMPILE_S=1", "bash -c 'while :; do :; done'");
  CHECK(time.exit_code == 124);
  const char* const too_long =
      "yours.cu: took too long to compile: more than 1 s of processor time; COMPILE_S= allows "
      "more\n";
  CHECK(time.err == too_long);
  CHECK(limited(here + " COMPILE_S=1", "bash -c 'kill -XCPU $$'").err == too_long);
  CHECK(limited(here + " COMPILE_S=1", "sleep 1.5").exit_code == 0);
  const testing::Output children = limited(here + " WAIT_S=1", "bash -c 'sleep 20 & wait'");
  CHECK(children.exit_code == 124);
  CHECK(testing::contains(
      children.err, "yours.cu: has not been compiled after 1 s, in which the compiler"));
  CHECK(std::filesystem::is_empty(folder.path()));

  const testing::Output other = limited(here, "bash -c 'echo wrong >&2; exit 3'");
  CHECK(other.exit_code == 3);
  CHECK(other.err == "wrong\n");
  CHECK(limited("COMPILE_S=0", "true").err.starts_with("COMPILE_S=0: give a whole number"));
}

}  // namespace grade
