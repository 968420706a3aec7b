// The launches of a whole program: which of them are traced, and what became of them.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine/program.h"
#include "try/kernels.h"

namespace attempt {

// Each launch runs at once, and completely: blocks that are not traced run in the plain copy.
class Launches : public machine::ProgramLaunches {
 public:
  // `most_traced`: of each kernel, its first launches. The first of them is audited, if the machine
  // has an audit.
  Launches(machine::Machine machine, int most_traced)
      : machine_(std::move(machine)), most_traced_(most_traced) {}

  void launch(const machine::ProgramLaunch& launch) override;
  const model::Gpu* gpu() const override { return machine_.gpu; }

  Kernels kernels;                 // the traced launches
  std::vector<std::string> notes;  // launches that a GPU refuses, once for each reason
  int made = 0;                    // launches
  std::exception_ptr failure;      // of a kernel that could not go on, or none
  // Whether an error of a kernel has ended main.
  bool stopped() const { return failure || kernels.any_abandoned(); }

  // All launches of that kernel.
  int launches_of(const void* kernel) const;

 private:
  void trace(const machine::ProgramLaunch& launch, const void* kernel);

  machine::Machine machine_;
  int most_traced_;
  std::map<const void*, int> launches_;  // by the traced copy's kernel
};

}  // namespace attempt
