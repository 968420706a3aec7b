// The flags of make try, in addition to those of gemm_steps that it accepts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flags/flags.h"

namespace attempt {

extern const char* const kUsage;  // the text for --help

struct Options {
  flags::Flags flags;
  double limit_s = 0;  // for sgemm, or for main
  bool name_threads = false;
  std::optional<int> registers;  // per thread, from --registers
  std::string show;              // the page to write; empty: print tables
  // For a whole program:
  int launches = 1;                    // of each kernel that are traced, from --launches
  std::string file;                    // its path, from --file
  std::vector<std::string> arguments;  // behind --
};

// Throws a Refusal.
Options parse_options(int argc, char** argv);

}  // namespace attempt
