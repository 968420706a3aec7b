// What moved between two benches.
#pragma once

#include <string>
#include <vector>

#include "bench/speeds.h"

namespace bench {

struct Comparison {
  std::string text;  // a table and its conclusion
  bool slower;       // something is
};

// A kernel has moved if its quartiles before and now do not overlap and its median changed by at
// least 1 %: a GPU's spread can be much smaller than the difference between two runs of a program.
// A kernel with a single run has no spread, and no verdict. Throws std::invalid_argument, with a
// sentence, if the two have no kernel at the same size.
Comparison compare(const std::vector<Speed>& before, const std::vector<Speed>& now);

}  // namespace bench
