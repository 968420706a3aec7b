#include <doctest/doctest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "testing/golden.h"
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

}  // namespace

TEST_CASE("a regular file is read to its last byte") {
  const Folder folder;
  const std::string bytes("a\0b\r\n", 5);
  folder.write("x", bytes);
  CHECK(read_file(folder / "x", 5).contents == bytes);
  CHECK(read_file(folder / "x", 5).problem == "");
  CHECK(read_file(folder / "x", 4).problem.starts_with("more than 0 KB"));
  CHECK(read_file("/proc/self/stat", 1000).contents.size() > 10);  // its size is 0
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

TEST_CASE("each list of edits is made, or refused with its line, as its golden file says") {
  const Folder folder;
  folder.write("kernel.cu", R"(x = 0;
  // ---- your code ----
  a = 1;

  b = 2;
  c = 3;
  b = 2;
  // ---- end of your code ----
)");
  const std::string region = "  // ---- your code ----\n  // ---- end of your code ----\n";
  folder.write("empty.cu", region + "between\n" + region);
  // The messages and what was made, for each of the lists, which ==== separates.
  const testing::Output made = testing::run(
      "exec 2>&1; cases=$PWD/src/text/edits_tests.txt edits=$PWD/src/text/edits.awk; cd '" +
      folder.path().string() +
      "'\nawk 'BEGIN { RS = \"====\\n\" } { printf \"%s\", $0 > sprintf(\"%02d.list\", NR) }' "
      "$cases\n"
      "for list in *.list; do mkdir made; cat $list; awk -v into=made -f $edits $list\n"
      "echo exit code $?; ls made | while read f; do echo \"== $f\"; cat made/$f; done; rm -r "
      "made; done");
  testing::compare_with_golden("edits", {{"lists, messages and files", made.out}});
}

}  // namespace text
