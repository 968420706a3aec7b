// make walkthrough: runs every command that walkthrough.md and exercises/TEACHING.md quote, and
// updates the quoted output where only numbers have changed, and what each figure of the
// walkthrough shows. An author must handle all other changes. The table of README.md for a run
// without a GPU is replaced as a whole.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <regex>

#include "school/lesson/lesson.h"

namespace {

void write(const std::filesystem::path& file, const lesson::Lines& text) {
  const std::filesystem::path written = file.string() + ".tmp";
  std::ofstream out(written);
  for (const std::string& line : text) out << line << "\n";
  out.close();
  if (!out) throw std::runtime_error("cannot write " + written.string());
  std::filesystem::rename(written, file);
}

// The part of a table that does not depend on the machine: without the CPU's own times, and without
// the column widths, which depend on them.
lesson::Lines comparable(lesson::Lines table) {
  std::erase_if(table, [](const std::string& line) {
    return std::regex_search(line, std::regex("^ *(0 serial|OpenMP CPU)"));
  });
  for (std::string& line : table) line = std::regex_replace(line, std::regex("( |─)+"), " ");
  return table;
}

void renew_table_of_readme(const lesson::Built& built) {
  const std::filesystem::path file = "README.md";
  lesson::Lines text = lesson::read_lines(file);
  const auto begin = std::find_if(text.begin(), text.end(), [](const std::string& line) {
    return line.starts_with("problem  C (4096 x 4096)");
  });
  const auto end = std::find(begin, text.end(), "```");
  if (end == text.end()) throw std::runtime_error("README.md has no table of a run without a GPU");
  const lesson::Lines now = lesson::run("./gemm_steps", built).lines;
  if (comparable({begin, end}) == comparable(now)) return;
  text.insert(text.erase(begin, end), now.begin(), now.end());
  write(file, text);
}

int mend(const std::filesystem::path& file, const lesson::Built& built) {
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
              stderr, "%s:%d: %s\n%s\n", file.c_str(), command.line, command.text.c_str(),
              what.c_str());
          ++left;
        }
      }
    }
  }
  write(file, text);
  return left == 0 ? 0 : 1;
}

int renew_figures_of_walkthrough() {
  lesson::Lines text = lesson::read_lines("walkthrough.md");
  int left = 0;
  for (const std::string& what : lesson::renew_figure_lines(text, lesson::findings_in("figures"))) {
    std::fprintf(stderr, "walkthrough.md: %s\n", what.c_str());
    ++left;
  }
  write("walkthrough.md", text);
  return left == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: update PROGRAM BUILD_FOLDER, in the folder of walkthrough.md\n", stderr);
    return 2;
  }
  try {
    renew_table_of_readme({argv[1], argv[2]});
    return std::max(
        {mend("walkthrough.md", {argv[1], argv[2]}), renew_figures_of_walkthrough(),
         mend("exercises/TEACHING.md", {argv[1], argv[2]})});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "update: %s\n", error.what());
    return 2;
  }
}
