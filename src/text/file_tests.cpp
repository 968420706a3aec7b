#include <doctest/doctest.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "testing/program.h"
#include "text/file.h"

namespace text {

namespace {

namespace fs = std::filesystem;
using testing::Folder, testing::contents;

std::vector<std::string> names_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

std::string problem_of_reading(const std::string& path, std::size_t most = 100) {
  return read_file(path, most).problem;
}

}  // namespace

TEST_CASE("a regular file is read to its last byte") {
  const Folder folder;
  const std::string bytes("a\0b\r\n", 5);
  folder.write("x", bytes);
  CHECK(read_file(folder / "x", 5).contents == bytes);
  CHECK(problem_of_reading(folder / "x", 5) == "");
  CHECK(read_file("/proc/self/stat", 1000).contents.size() > 10);  // its size is 0
}

TEST_CASE("a file that would block, never end or is too large is refused at once") {
  const Folder folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string no_file = "a pipe or device, not a file; write its output to a file first";
  CHECK(problem_of_reading(folder / "pipe") == no_file);
  CHECK(problem_of_reading("/dev/zero") == no_file);
  CHECK(problem_of_reading(folder.path().string()) == "a folder, not a file; check the name");
  CHECK(problem_of_reading(folder / "none") == "no such file; check the name");
  fs::create_symlink("loop", folder / "loop");
  CHECK(problem_of_reading(folder / "loop").find("symbolic links") != std::string::npos);
  folder.write("x", "12345");
  CHECK(problem_of_reading(folder / "x", 4) == "more than 0 KB; check that this is the right file");
  fs::resize_file(folder / "x", std::uintmax_t{1} << 33);
  CHECK(
      problem_of_reading(folder / "x", 1 << 21) ==
      "more than 2 MB; check that this is the right file");
}

TEST_CASE("a file is replaced as a whole, and keeps its mode and its link") {
  const Folder folder;
  folder.write("x", "before");
  constexpr fs::perms kOwn = fs::perms::owner_all | fs::perms::group_write | fs::perms::others_read;
  fs::permissions(folder / "x", kOwn);
  fs::create_symlink("x", folder / "link");
  CHECK(write_file(folder / "link", {"af", "", "ter"}) == "");
  CHECK(contents(folder / "x") == "after");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::status(folder / "x").permissions() == kOwn);
  CHECK(names_in(folder).size() == 2);
}

TEST_CASE("a link to nothing or to itself is not overwritten") {
  const Folder folder;
  fs::create_symlink("none", folder / "dangling");
  fs::create_symlink("loop", folder / "loop");
  for (const std::string name : {"dangling", "loop"}) {
    CHECK(
        write_file(folder / name, {"x"}).starts_with("cannot be written (it is a link to a file"));
    CHECK(fs::is_symlink(folder / name));
  }
  CHECK(names_in(folder).size() == 2);
}

TEST_CASE("a temporary file left by an earlier process with the same number does no harm") {
  const Folder folder;
  folder.write("x." + std::to_string(getpid()) + "-0.partial", "left");
  CHECK(write_file(folder / "x", {"new"}) == "");
  CHECK(contents(folder / "x") == "new");
  CHECK(names_in(folder).size() == 2);
}

TEST_CASE("if the file size limit is reached, only the old file remains") {
  const Folder folder;
  folder.write("x", "before");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1000, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string problem = write_file(folder / "x", {std::string(5000, 'y')});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(
      problem ==
      "cannot be written (File too large); raise the limit on the size of a file (ulimit -f)");
  CHECK(contents(folder / "x") == "before");
  CHECK(names_in(folder).size() == 1);
}

TEST_CASE("a signal that ends the program during a write leaves no partial file") {
  const Folder folder;
  const std::string piece(std::size_t{1} << 26, 'x');
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_DFL);  // doctest's handlers would report the signal
    for (int i = 0;; ++i) static_cast<void>(write_file(folder / "x", {piece}));
  }
  for (int tries = 0; names_in(folder).empty() && tries < 10'000; ++tries) usleep(1000);
  kill(child, SIGTERM);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
  for (const std::string& name : names_in(folder)) CHECK(name == "x");  // if it exists, it is whole
}

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

  // The messages about the list, on stdout and stderr, without the name of the folder.
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
  const std::string output = edits.make(
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
      output ==
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
