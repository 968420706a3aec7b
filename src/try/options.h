// The flags of make try, in addition to those of gemm_steps that it accepts.
#pragma once

#include <optional>
#include <string>

#include "flags/flags.h"

namespace attempt {

extern const char* const kUsage;  // the text for --help

struct Options {
  flags::Flags flags;
  double limit_s = 10;
  bool name_threads = false;
  std::optional<int> registers;  // per thread, from --registers
  std::string show;              // the page to write; empty: print tables
};

// Throws a Refusal.
Options parse_options(int argc, char** argv);

}  // namespace attempt
