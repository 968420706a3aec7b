#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "testing/folder.h"

namespace text {

namespace fs = std::filesystem;

namespace {

// A kernel to edit, a list of edits of it, and what src/text/edits.awk makes of them.
struct Edits {
  Edits() : folder(fs::temp_directory_path() / ("edits_tests_" + std::to_string(getpid()))) {
    fs::create_directories(folder);
    std::ofstream(kernel()) << "x = 0;\n"
                               "  // ---- your code ----\n"
                               "  a = 1;\n"
                               "\n"
                               "  b = 2;\n"
                               "  c = 3;\n"
                               "  b = 2;\n"
                               "  // ---- end of your code ----\n";
    std::ofstream(folder / "empty.cu") << "  // ---- your code ----\n"
                                          "  // ---- end of your code ----\n"
                                          "between\n"
                                          "  // ---- your code ----\n"
                                          "  // ---- end of your code ----\n";
  }
  ~Edits() { fs::remove_all(folder); }

  std::string kernel() const { return folder / "kernel.cu"; }

  // What is said about the list, on stdout and stderr, without the name of the folder.
  std::string make(const std::string& list) {
    std::ofstream(folder / "list") << list;
    std::FILE* out = popen(
        ("cd '" + folder.string() + "' && awk -v into=. -f '" +
         fs::absolute("src/text/edits.awk").string() + "' list 2>&1")
            .c_str(),
        "r");
    REQUIRE(out != nullptr);
    std::string text;
    char part[4096];
    while (std::fgets(part, sizeof part, out) != nullptr) text += part;
    exit_code = WEXITSTATUS(pclose(out));
    return text;
  }
  std::string region(const std::string& name) const {
    std::ifstream file(folder / name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t begin = text.find("your code ----\n") + 15;
    return text.substr(begin, text.find("  // ---- end") - begin);
  }

  const fs::path folder;
  int exit_code = 0;
};

}  // namespace

TEST_CASE("an edit takes lines out and puts lines in, at one place or at several") {
  Edits edits;
  const std::string said = edits.make(
      "# A comment.\n"
      "edits of kernel.cu\n"
      "\n"
      "other_a: tell: this\n"
      "-  a = 1;\n"
      "+  a = 2;\n"
      "\n"
      "no_c: and that\n"
      "   c = 3;\n"
      "-  b = 2;\n"
      "...\n"
      "-  a = 1;\n"
      "\n"
      "   b = 2;\n"
      "+# b;\n"
      "edits of empty.cu\n"
      "filled: words\n"
      "+  z = 9;\n"
      "...\n"
      "+  y = 8;\n"
      "edits of exercises/solutions/none.cu\n"
      "left_out: words\n"
      "-  a = 1;\n");
  CHECK(edits.exit_code == 0);
  CHECK(
      said ==
      "other_a\t./other_a.cu\ttell: this\tkernel.cu\n"
      "no_c\t./no_c.cu\tand that\tkernel.cu\n"
      "filled\t./filled.cu\twords\tempty.cu\n");
  CHECK(edits.region("other_a.cu") == "  a = 2;\n\n  b = 2;\n  c = 3;\n  b = 2;\n");
  CHECK(edits.region("no_c.cu") == "\n  b = 2;\n# b;\n  c = 3;\n");
  CHECK(edits.region("filled.cu") == "  z = 9;\n");
  CHECK(
      testing::contents(edits.folder / "filled.cu")
          .find("between\n  // ---- your code ----\n  y = 8;\n") != std::string::npos);
}

TEST_CASE("an edit that cannot be made is refused with its line") {
  Edits edits;
  const std::string of = "edits of kernel.cu\n";
  for (const auto& [list, sentence] : {
           std::pair{
               of + "n: w\n-  a = 2;\n", "list:3: these lines are not in a region of kernel.cu"},
           {of + "n: w\n-x = 0;\n", "list:3: these lines are not in a region of kernel.cu"},
           {of + "n: w\n-  a = 1;\n-  b = 2;\n",
            "list:3: these lines are not in a region of kernel.cu"},
           {of + "n: w\n+  z = 9;\n", "list:3: these lines are not in a region of kernel.cu"},
           {of + "n: w\n-  b = 2;\n",
            "list:3: these lines are 2 times in kernel.cu; add the next ones"},
           {of + "n: w\n-  a = 1;\n...\n-  a = 1;\n", "list:5: a line is edited twice"},
           {of + "n: w\n   a = 1;\n", "list:2: n changes nothing"},
           {of + "n: w\n\nm: w\n-  a = 1;\n", "list:2: n changes nothing"},
           {of + "n: w\n-  a = 1;\nn: w\n-  c = 3;\n", "list:4: there is another n"},
           {of + "-  a = 1;\n",
            "list:2: first give the edit a name and words about it: NAME: WORDS"},
           {of + "n:\n-  a = 1;\n", "list:2: no line of an edit: n:"},
           {std::string("n: w\n-  a = 1;\n"), "list:1: first say what is edited: edits of FILE"},
           {std::string("edits of other.cu\n"), "list:1: other.cu cannot be read"},
       }) {
    CAPTURE(list);
    CHECK(edits.make(list) == std::string(sentence) + "\n");
    CHECK(edits.exit_code == 1);
  }
}

}  // namespace text
