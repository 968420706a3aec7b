// A whole program of a user: its own main runs on the CPU, and its launches are traced.
#pragma once

#include <cstdio>
#include <string>

#include "guard/guard.h"
#include "text/numbers.h"
#include "try/options.h"

namespace attempt {

// Runs main in this child and reports: the table or what else `options` ask for.
guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, bool on_terminal,
    std::FILE* report);

}  // namespace attempt
