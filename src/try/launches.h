// The launches of a whole program: which of them are traced, and what became of them.
#pragma once

#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "machine/program.h"
#include "try/kernels.h"

namespace attempt {

// Each launch runs at once, and completely: blocks that are not traced run in the plain copy.
class Launches : public machine::ProgramLaunches {
 public:
  static constexpr int kAll = std::numeric_limits<int>::max();

  // `most_traced`: of each kernel, its first launches. `stop` ends the program; it does not return.
  Launches(machine::Machine machine, int most_traced, std::function<void()> stop)
      : machine_(std::move(machine)), most_traced_(most_traced), stop_(std::move(stop)) {}

  void launch(const machine::ProgramLaunch& launch) override;
  const model::Gpu* gpu() const override { return machine_.gpu; }

  Kernels kernels;                 // the traced launches
  std::vector<std::string> notes;  // launches that a GPU refuses, once for each reason
  int made = 0;                    // launches
  std::exception_ptr failure;      // why the program had to stop, or none

  // All launches of that kernel.
  int launches_of(const void* kernel) const;

 private:
  void trace(const machine::ProgramLaunch& launch, const void* kernel);

  machine::Machine machine_;
  int most_traced_;
  std::function<void()> stop_;
  std::map<const void*, int> launches_;  // by the traced copy's kernel
};

}  // namespace attempt
