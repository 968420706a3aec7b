// walkthrough.md as data: its chapters, the commands that it quotes and the code that it shows.
// The tests compare each of them with the program and the source; `make walkthrough` updates
// quotes.
//
// The word after the opening ``` of a block names its kind:
//   console          Lines that begin with "$ " are run. Below each is its output: consecutive
//                    lines, "..." for omitted lines, <word> for one word that depends on the
//                    machine. Without output below, the command must only succeed.
//   console gpu      Commands that need a GPU, or minutes. Only their syntax is checked.
//   c++ FILE         Lines of that file; "..." for omitted lines.
//   diff             "--- NAME" and "+++ NAME" name two functions; then lines of their diff.
//   text             A table or a calculation by hand.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace lesson {

using Lines = std::vector<std::string>;

// The lines of a file without line ends. Throws std::runtime_error if it cannot be read.
Lines read_lines(const std::filesystem::path& file);

// The words, with one space between them.
std::string squeezed(const std::string& text);

// The lines with their ends.
std::string joined(const Lines& lines);

struct FencedBlock {
  int line;          // of its opening ``` in the file, from 1
  std::string info;  // the text after ```
  Lines lines;
};

// A line "![finding](file)". The finding is for readers who cannot see the picture.
struct Figure {
  int line;
  std::string finding, file;
};

struct Chapter {
  std::string title;  // of a heading "## ..."
  int line;
  Lines prose;  // everything outside of blocks, comments and figures
  std::vector<FencedBlock> blocks;
  std::vector<Figure> figures;

  int words() const;  // in the prose
};
std::vector<Chapter> chapters(const Lines& markdown);

struct Command {
  int line;
  std::string text;
  Lines quoted;
};
// The commands of a console block. A command that ends in a backslash continues on the next line.
std::vector<Command> commands(const FencedBlock& block);

// The commands that the prose quotes between backticks, without output.
std::vector<Command> inline_commands(const Chapter& chapter);

// Where the commands find the build: the program, and the folder that the text calls build/.
struct Built {
  std::string program;
  std::filesystem::path folder;
};

struct Output {
  int exit_code;
  Lines lines;  // of stdout
};
// Runs a command with bash, with every GPU hidden. A make command is only checked with make -n.
Output run(const std::string& command, const Built& built);

// Runs as much as possible of a command that needs a GPU: make without doing anything, the program
// on the CPU at a small size. Returns a sentence that says why the command is malformed; empty if
// it is well-formed.
std::string malformed(const std::string& command, const Built& built);

// The difference between `quoted` and `real`: the first lines that are not there, or empty.
std::string difference(const Lines& quoted, const Lines& real);

// `quoted`, updated from `real`. A line is updated if the same words now have other numbers. A line
// that is not found stays unchanged.
Lines mended(const Lines& quoted, const Lines& real);

// The lines that show the figures: "![what it shows](figures/NAME.svg)".

// The finding of each figure, by its file: "figures/gpu.svg".
using Findings = std::map<std::string, std::string>;

// The <desc> of every SVG file in that folder.
Findings findings_in(const std::filesystem::path& folder);

// Updates the lines of `text` that show a figure to its present finding. Returns a sentence for
// each line that an author must handle: lines of figures that do not exist or were shown before,
// and figures that no line shows.
Lines renew_figure_lines(Lines& text, const Findings& findings);

}  // namespace lesson
