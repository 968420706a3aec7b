// The flags of make try, beside those of gemm_steps that it takes.
#pragma once

#include <optional>
#include <string>

#include "flags/flags.h"

namespace attempt {

extern const char* const kUsage;  // what --help prints

struct Options {
  flags::Flags flags;
  double limit_s = 10;
  bool name_threads = false;
  std::optional<int> registers;  // a thread, as --registers states them
  std::string show;              // the page to write; empty: print tables
};

// Throws a Refusal.
Options parse_options(int argc, char** argv);

}  // namespace attempt
