// walkthrough.md as data: its chapters, the commands that it quotes and the code that it shows.
// The tests hold each of them against the program and the source; `make walkthrough` mends quotes.
//
// A fenced block says after ``` what it is:
//   console          lines that begin with "$ " are run, and what stands below each is its output:
//                    consecutive lines of it, "..." for lines left out, <word> for one word that is
//                    another on another machine. No output below: only that the command succeeds.
//   console gpu      needs a GPU, or minutes: only checked for being well-formed
//   c++ FILE         lines of that file, as they stand there; "..." for lines left out
//   diff             "--- NAME" and "+++ NAME" are two functions; then lines of their diff
//   text             a table or a sum worked by hand
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lesson {

using Lines = std::vector<std::string>;

// The lines of a file without their ends. Throws std::runtime_error where it cannot be read.
Lines read_lines(const std::filesystem::path& file);

struct Block {
  int line;          // of its opening ``` in the file, from 1
  std::string info;  // what stands there
  Lines lines;
};

// A line "![finding](file)": the finding is for readers who do not see the picture.
struct Figure {
  int line;
  std::string finding, file;
};

struct Chapter {
  std::string title;  // of a heading "## ..."
  int line;
  Lines prose;  // what is in no block, comments and figures left out
  std::vector<Block> blocks;
  std::vector<Figure> figures;

  int words() const;  // of the prose
};
std::vector<Chapter> chapters(const Lines& markdown);

struct Command {
  int line;
  std::string text;
  Lines quoted;
};
// The commands of a console block; one that ends in a backslash goes on in the next line.
std::vector<Command> commands(const Block& block);

// The commands that the prose quotes between backticks, with nothing of their output.
std::vector<Command> inline_commands(const Chapter& chapter);

// Where the commands find what was built: the program, and in the build folder what make calls
// build/... in the text.
struct Built {
  std::string program;
  std::filesystem::path folder;
};

struct Output {
  int exit_code;
  Lines lines;  // of stdout
};
// Runs a command with bash, where no GPU is seen. Of make only what it would do is asked for.
Output run(const std::string& command, const Built& built);

// Runs what can be run of a command that needs a GPU: make without doing anything, the program on
// the CPU at a small size. Says in one sentence why it is not well-formed; empty where it is.
std::string malformed(const std::string& command, const Built& built);

// Where `quoted` departs from `real`: an empty string, or the first line that is not there.
std::string difference(const Lines& quoted, const Lines& real);

// `quoted` with every line as it is in `real` now. A line has changed when the same words stand
// there with other numbers; a line that is not found stays as it is.
Lines mended(const Lines& quoted, const Lines& real);

}  // namespace lesson
