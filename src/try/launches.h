// The launches of a whole program: which of them are traced, and what became of them.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "machine/program.h"
#include "try/kernels.h"

namespace attempt {

// Each launch runs at once, and completely: blocks that are not traced run in the plain copy. When
// most of the program's time is over, only traced blocks run, so that more kernels are seen.
class Launches : public machine::ProgramLaunches {
 public:
  // `most_traced`: of each kernel, its first launches. The first of them is audited, if the machine
  // has an audit. Of `limit_s`, the program's time from now on, half is for whole launches.
  Launches(machine::Machine machine, int most_traced, double limit_s);

  void launch(const machine::ProgramLaunch& launch) override;
  const model::Gpu* gpu() const override { return machine_.gpu; }
  bool is_late() const override;
  void note_lateness() override;

  std::function<void()> traced;  // called when the counts of a launch are there; may be empty
  bool any_cut_short = false;    // launches, because the program was late

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
  void add_note(const std::string& note);
  void note_doubt(const void* kernel);

  machine::Machine machine_;
  int most_traced_;
  std::chrono::milliseconds whole_time_;  // in which launches are whole
  std::map<const void*, int> launches_;   // by the traced copy's kernel
  // In which launches that are not counted were traced, to see which memory they use.
  std::chrono::steady_clock::duration watching_{};
};

}  // namespace attempt
