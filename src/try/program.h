// A whole program of a user: its own main runs on the CPU, and its launches are traced.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "guard/guard.h"
#include "text/style.h"
#include "try/options.h"

// The user's main, renamed in the plain copy (copy.sh); null if the file has none, or an sgemm.
extern "C" [[gnu::weak]] int simt_users_main(int argc, char** argv, char** environment);

namespace attempt {

// Runs main in this child and reports. `note` is printed for readers of the counts; `stdout_of` is
// a descriptor for what the program prints.
guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, std::FILE* report,
    int stdout_of);

// Ends main with this exit code, as exit() does; nothing if main is not running on this thread.
void leave_program(int exit_code);

}  // namespace attempt
