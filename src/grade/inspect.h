// make show, make step and make debug EX=n: one case of an exercise, in pictures, step by step or
// under gdb, with the kernel that the grader put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace grade {

struct InspectOptions {
  std::string how;           // "show", "step" or "debug"; empty: grade
  std::string page;          // of show: the HTML file to write
  std::vector<char*> flags;  // as gemm_steps takes them, the first a placeholder for its name
};

// The answer, and how it is run.
struct Inspected {
  std::string exercise, file, student;
  std::uint64_t seed;
  double limit_s;
};

// Shows the smallest case in which the kernel fails, or else the smallest in which there is
// something to see. Where an exercise asks something before its tool speaks, it must have been
// answered. Returns the exit code: 0, 1 where the kernel fails there, or 2. Throws Refusal for
// flags that make no sense here.
int inspect(const InspectOptions& options, const Inspected& what);

}  // namespace grade
