// make walkthrough: runs every command that walkthrough.md quotes, and writes its output of today
// into the file where only numbers have changed. What else has changed is for an author to see.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "lesson/lesson.h"

namespace {

int mend(const lesson::Built& built) {
  const std::filesystem::path file = "walkthrough.md", written = "walkthrough.md.tmp";
  lesson::Lines text = lesson::read_lines(file);
  int left = 0;
  for (const lesson::Chapter& chapter : lesson::chapters(text)) {
    for (const lesson::Block& block : chapter.blocks) {
      if (block.info != "console") continue;
      for (const lesson::Command& command : lesson::commands(block)) {
        if (command.quoted.empty()) continue;
        const lesson::Lines real = lesson::run(command.text, built).lines;
        const lesson::Lines mended = lesson::mended(command.quoted, real);
        const std::size_t lines_of_command =
            1 + std::count(command.text.begin(), command.text.end(), '\n');
        std::copy(mended.begin(), mended.end(), text.begin() + command.line - 1 + lines_of_command);
        if (const std::string what = lesson::difference(mended, real); !what.empty()) {
          std::fprintf(
              stderr, "walkthrough.md:%d: %s\n%s\n", command.line, command.text.c_str(),
              what.c_str());
          ++left;
        }
      }
    }
  }
  std::ofstream out(written);
  for (const std::string& line : text) out << line << "\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + written.string());
  std::filesystem::rename(written, file);
  return left == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: mend PROGRAM BUILD_FOLDER, in the folder of walkthrough.md\n", stderr);
    return 2;
  }
  try {
    return mend({argv[1], argv[2]});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mend: %s\n", error.what());
    return 2;
  }
}
