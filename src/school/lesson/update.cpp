// make walkthrough: runs every command that walkthrough.md and exercises/TEACHING.md quote, and
// updates the quoted output where only numbers have changed, and what each figure of the
// walkthrough shows. An author must handle all other changes. The tables of README.md and
// results/README.md are replaced as a whole, and each number in a text by that of its source
// (quoted.h).
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <regex>

#include "school/lesson/lesson.h"
#include "school/lesson/quoted.h"
#include "text/file.h"

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  const std::string problem = text::write_file(file, {text});
  if (!problem.empty()) throw std::runtime_error(file.string() + ": " + problem);
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

// Replaces the table in a block of that file, unless only what is of the machine differs.
void renew_table(
    const std::filesystem::path& file, const lesson::Lines& now, bool is_of_this_machine) {
  lesson::Lines text = lesson::read_lines(file);
  const auto begin = std::find_if(text.begin(), text.end(), [](const std::string& line) {
    return line.starts_with("problem  C (4096 x 4096)");
  });
  const auto end = std::find(begin, text.end(), "```");
  if (end == text.end()) throw std::runtime_error(file.string() + " has no table");
  if (is_of_this_machine && comparable({begin, end}) == comparable(now)) return;
  text.insert(text.erase(begin, end), now.begin(), now.end());
  write(file, lesson::joined(text));
}

// The recorded table, without its legend.
lesson::Lines recorded_table() {
  const lesson::Lines all = lesson::read_lines("results/h200-4096.txt");
  return {all.begin(), std::find(std::find(all.begin(), all.end(), "") + 1, all.end(), "")};
}

int mend(const std::filesystem::path& file, const lesson::Built& built) {
  lesson::Lines text = lesson::read_lines(file);
  int left = 0;
  for (const lesson::Chapter& chapter : lesson::chapters(text)) {
    for (const lesson::FencedBlock& block : chapter.blocks) {
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
  write(file, lesson::joined(text));
  return left == 0 ? 0 : 1;
}

int renew_figures_of_walkthrough() {
  lesson::Lines text = lesson::read_lines("walkthrough.md");
  int left = 0;
  for (const std::string& what : lesson::renew_figure_lines(text, lesson::findings_in("figures"))) {
    std::fprintf(stderr, "walkthrough.md: %s\n", what.c_str());
    ++left;
  }
  write("walkthrough.md", lesson::joined(text));
  return left == 0 ? 0 : 1;
}

int renew_quoted_numbers() {
  const lesson::Lines sources = lesson::read_lines(lesson::kSources);
  lesson::Lines moved;
  int left = 0;
  for (const std::string& name : lesson::texts_with_numbers()) {
    const lesson::Quoted quoted =
        lesson::quoted(name, lesson::joined(lesson::read_lines(name)), sources, "results");
    for (const std::string& what : quoted.moved) moved.push_back(name + ":" + what);
    for (const std::string& what : quoted.unsourced) {
      std::fprintf(
          stderr, "%s: %s has no number for: %s\n", name.c_str(), lesson::kSources, what.c_str());
      ++left;
    }
    if (!quoted.outdated.empty()) write(name, quoted.text);
  }
  if (!moved.empty()) std::puts("Changed by more than 3 %; are these sentences still true?");
  for (const std::string& what : moved) std::puts(what.c_str());
  return left == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: update PROGRAM BUILD_FOLDER, in the folder of walkthrough.md\n", stderr);
    return 2;
  }
  try {
    const lesson::Built built{argv[1], argv[2]};
    renew_table("README.md", lesson::run("./gemm_steps", built).lines, true);
    renew_table("results/README.md", recorded_table(), false);
    return std::max(
        {mend("walkthrough.md", built), renew_figures_of_walkthrough(),
         mend("exercises/TEACHING.md", built), renew_quoted_numbers()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "update: %s\n", error.what());
    return 2;
  }
}
