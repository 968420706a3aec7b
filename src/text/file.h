// Input and output files, and the standard streams. Input files are regular and of known size. An
// output file appears whole or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace text {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// If `problem` is not empty, it says why the file cannot be read and what to do. It continues a
// sentence that begins with the file's name: "no such file; check the name".
struct OpenedFile {
  std::string problem;
  File file;
  std::uint64_t bytes = 0;
};
struct ReadFile {
  std::string problem;
  std::string contents;
};

// Opens only a regular file. A pipe or a device could block forever or never end.
OpenedFile open_file(const std::string& path);

// The whole contents of a file of at most `most_bytes`.
ReadFile read_file(const std::string& path, std::size_t most_bytes);

// Writes the pieces one after the other to the file `path`, which appears or changes all at once.
// If anything goes wrong, or a signal ends the program, the old file stays unchanged. A link stays
// a link. Returns the problem; empty if the file is written.
std::string write_file(const std::string& path, std::initializer_list<std::string_view> pieces);

// The problem that write_file would have now. Leaves no file.
std::string problem_of_writing(const std::string& path);

// The standard streams of a program, from start to end.

// Call this first in main. If the caller closed a standard stream, this opens it, so that a file
// opened later does not get its number and receive the program's output. A write beyond the limit
// on file size (ulimit -f) then fails instead of ending the program.
void open_standard_streams();

// Call this last in main. Returns `exit_code`, or 2 if not all output could be written to stdout.
// In that case it says so on stderr in one sentence that begins with `program`.
int finished(const char* program, int exit_code);

}  // namespace text
