// The standard streams of a program, from its first line to its last.
#pragma once

namespace text {

// Call this first in main. A standard stream that the caller has closed is opened so that nothing
// else takes its place: a file opened later would get its number, and what is printed with it. And
// a file that may not grow further (ulimit -f) fails a write instead of ending the program.
void open_standard_streams();

// Call this last in main. Returns `exit_code`, or 2 where not all that was printed could be
// written to stdout; stderr then says so in one sentence, in the name of `program`.
int finished(const char* program, int exit_code);

}  // namespace text
