// Maps places in the program to lines of the kernels' source, by addr2line from binutils.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/recording.h"
#include "model/warp_access.h"

namespace trace {

// Places in this program, as offsets from its start.
using Places = std::vector<std::uint32_t>;

// The output of `addr2line -a -i` for them; nothing if addr2line is not available.
std::string addr2line(const Places& places);

// If not empty, this is called instead of addr2line() from now on, for a process that may not start
// another.
extern std::function<std::string(const Places&)> addr2line_elsewhere;

// The same for source_text(), for a process that may not open files.
extern std::function<std::string(const std::string& file)> source_text_elsewhere;

struct SourceRange {
  std::string file;
  int first = 0, last = 0;  // lines, from 1
};

// The lines of the kernel whose function, compiled for the CPU, is at `kernel`, or of the function
// to which one in embedded source leaves its work. 0 to 0 without addr2line, debug information or
// the file.
SourceRange kernel_lines(const void* kernel);

// The first line of the declaration that contains `line`: the one after a comment, a blank line,
// another function, an #include or a using. 0 if the text has no such line, for example because the
// file changed after compilation.
int heading_line(const std::vector<std::string_view>& lines, int line);

// The line of the brace that closes the first brace opened on or after `first`.
int closing_line(std::string_view source, int first);

// Where a kernel makes an access.
struct CodeLine {
  // In the kernel: the innermost call on the way to the access that is still in it, so an access
  // inside a helper belongs to the line that calls the helper. What the kernel does before it
  // leaves its work to a function belongs to that one's first line. 0: none.
  int line = 0;
  // If a function that `line` calls makes the access: the line in that function, and its file.
  // Unless the source is embedded.
  int helper_line = 0;
  std::string helper_file = {};
};

// The file that the user gave; empty: that of each kernel. Hazards name other files.
extern std::string users_file;

// The name of `file` for a reader of `own`: empty if it is the same one, or embedded.
std::string file_unless(const std::string& own, const std::string& file);

// A source file whose text at compile time is embedded in the program. It shows its helpers once,
// before its kernels, so an access in a helper has no second line.
struct EmbeddedSource {
  bool (*is)(const std::string& file) = nullptr;  // whether this is the file's path
  std::string_view text;
};
extern EmbeddedSource embedded_source;  // none by default

// The text of a source file: the embedded one, or the file's own.
std::string source_text(const std::string& file);

// Sets the lines of `kernel` for each of `lines`, as CodeLine says. Then merges entries with the
// same lines, array, direction and width, and sorts them.
void resolve_lines(std::vector<model::LineCounts>& lines, const SourceRange& kernel);

// The same for hazards; sorted by kind and lines, with each pair of lines once.
void resolve_lines(std::vector<model::Hazard>& hazards, const SourceRange& kernel);

// The same for the findings of an audit, except those that already have a line, in another kernel.
void resolve_lines(model::Audit& audit, const SourceRange& kernel);

// The same for the sites and hazards of a recording; their order does not change.
void resolve_lines(model::Recording& recording, const SourceRange& kernel);

}  // namespace trace
