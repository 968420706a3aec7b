// The standard streams of a program, from start to end.
#pragma once

namespace text {

// Call this first in main. If the caller closed a standard stream, this opens it, so that a file
// opened later does not get its number and receive the program's output. A write beyond the limit
// on file size (ulimit -f) then fails instead of ending the program.
void open_standard_streams();

// Call this last in main. Returns `exit_code`, or 2 if not all output could be written to stdout.
// In that case it says so on stderr in one sentence that begins with `program`.
int finished(const char* program, int exit_code);

}  // namespace text
