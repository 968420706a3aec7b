// Files, in and out: those read are regular and of a known size, those written are whole or not
// there.
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

// Where `problem` is not empty it says why this cannot be had, and what to do, as the rest of a
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

// Only a regular file is opened. A pipe or a device could wait for ever or never end.
OpenedFile open_file(const std::string& path);

// All of a file that has at most `most_bytes`.
ReadFile read_file(const std::string& path, std::size_t most_bytes);

// Writes the pieces, one behind the other, to the file `path`, which appears or changes all at
// once: what stood there before stays as it is where anything goes wrong, also where a signal ends
// the program. A link stays a link. Returns the problem; empty: it is written.
std::string write_file(const std::string& path, std::initializer_list<std::string_view> pieces);

// The problem that write_file would have now. Leaves nothing behind.
std::string problem_of_writing(const std::string& path);

}  // namespace text
