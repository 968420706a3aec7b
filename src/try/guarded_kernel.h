// What a guard needs to know about kernels: which thread runs, how to report its faults, and which
// source lines are the user's. For users' files and for answers to exercises.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/simulator.h"

// The call of a user's main.

// The user's main, renamed in the plain copy (try.sh); null if the file has none, or an sgemm.
extern "C" [[gnu::weak]] int simt_users_main(int argc, char** argv, char** environment);

namespace attempt {

// Calls main with the file's name and these arguments, in the file's folder, where the program's
// data are. Returns its exit code, or that of exit(). Like exit(), this destroys nothing that lives
// on main's stack.
int call_main(const std::string& file, const std::vector<std::string>& arguments);

// Ends main with this exit code, as exit() does; returns if main is not running on this thread.
void leave_main(int exit_code);

// While this object exists, the working folder is the one from which main was called.
class OutsideMain {
 public:
  OutsideMain();
  ~OutsideMain();
  OutsideMain(const OutsideMain&) = delete;
  OutsideMain& operator=(const OutsideMain&) = delete;

 private:
  const int folder_;  // of main; -1: none
};

// A guard for a host function `name` and the kernels that it launches. In its children,
// trace/source_lines.h asks the parent for lines, so that they need not start a process.
guard::Guard kernel_guard(
    double limit_s, const std::string& said_by, const std::string& name = "sgemm");

// The user's line, "my.cu:12", of the innermost of these return addresses that is in the user's
// code; nothing if there is none.
std::string line_of_user(const std::vector<const void*>& frames);

// Calls guard::lock() in the child of such a guard, after reading the files that a run of kernels
// needs: the program, and its source files.
void lock_kernels_child(std::size_t fresh_threads, const std::vector<std::string>& sources);

// Functions of the C library that kernels may call. The Makefile redirects printf, assert's
// failure, malloc, new and rand of the user's file to these.

extern bool name_threads;  // printf starts with the block and the thread

}  // namespace attempt
