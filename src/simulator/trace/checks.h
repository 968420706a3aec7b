// The effects of instructions on data, checked bit by bit on a GPU and on the CPU: one source for
// both machines. And kernels with a mistake, which must be found on the CPU.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace trace {

struct Check {
  const char* text;
  std::string (*run)();  // what was wrong; empty: nothing
};
// Of sm_90a's instructions, against src/model/; the plain ones are not traced
// (src/simulator/trace/trace.mk).
extern const std::vector<Check> hopper_checks, plain_hopper_checks;
// Of inline PTX, against plain C++. For the CPU it goes through src/simulator/rewrite/.
extern const std::vector<Check> ptx_checks;

// A kernel, and what must be found in it: names of hazards, part of a fault's sentence, or what
// `run` returns, which is "wrong result" if anything.
struct Misuse {
  const char* text;
  std::string (*run)();
  const char* finds;
};
// A pipeline with one mistake each (trace/hopper_pipeline.h), and small kernels.
extern const std::vector<Misuse> hopper_mutants, hopper_misuses, ptx_misuses;

// The same kernel in CUDA C++ and in PTX.
struct PtxTwins {
  const char* text;
  std::function<void()> written, in_ptx;
};
extern const std::vector<PtxTwins> ptx_twins;

// The main function of a program for the GPU. Each check runs in a process of its own, because an
// error of the GPU ends all work of its process.
inline int run_checks(const std::vector<Check>& checks, int count, char** arguments) {
  if (count > 1) {
    const Check& check = checks.at(std::stoul(arguments[1]));
    std::string wrong;
    try {
      wrong = check.run();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    std::printf("%-48s %s\n", check.text, wrong.empty() ? "ok" : wrong.c_str());
    return wrong.empty() ? 0 : 1;
  }
  bool all = true;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const std::string command = std::string(arguments[0]) + " " + std::to_string(i);
    all &= std::system(command.c_str()) == 0;
  }
  return all ? 0 : 1;
}

}  // namespace trace
