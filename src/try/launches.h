// The launches of a whole program: which of them are traced, and their results.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/recording.h"
#include "model/stage.h"
#include "model/warp_access.h"
#include "show/step/step_command.h"
#include "simulator/simulator.h"
#include "text/numbers.h"
#include "try/options.h"

namespace attempt {

// The kernels of a user's file, with the counts of their launches added up.

// A launch's kernel as a report needs it, with the counts of all its launches.
struct Kernels {
  struct Entry {
    model::Variant variant;
    lab::Row row;
  };
  std::deque<Entry> entries;  // in the order of their first launches; never moved

  // M and N: of the product that the launch computes; 0: it computes none.
  void add_launch(
      const machine::RequestedLaunch& launch, const model::Counts& counts, int M, int N);
  // Of a launch of the kernel whose traced copy is `function`.
  void add_hazard(const void* function, const model::Hazard& hazard);

  bool any_abandoned() const;  // in case of a fatal hazard
  bool all_traced() const;     // every block
};

// With its occupancy and source. `registers` are per thread; none: as nvcc compiled it, if known.
lab::Row row_of(
    const model::Gpu& model, const Kernels::Entry& entry, std::optional<int> registers, int number);

// Each launch runs at once, and completely: blocks that are not traced run in the plain copy.
// Besides the launches that are counted, those that differ from all before in shape or pointers are
// traced to find hazards: the first of each kernel, and a few more while that takes little time.
// When most of the program's time is over, only traced blocks run, so that more kernels are seen.
// A program is a user's main, or our own that calls a user's sgemm. The latter ends at a launch
// that fails or is refused by an exception; after a fatal hazard, its launches do nothing.
class Launches : public machine::ProgramLaunches {
 public:
  // `most_traced`: of each kernel, its first launches. Of `limit_s`, the program's processor time
  // from now on, half is for whole launches. All launches of an sgemm are traced.
  explicit Launches(
      machine::Machine machine, int most_traced = std::numeric_limits<int>::max(),
      double limit_s = std::numeric_limits<double>::infinity());

  // Audits, in a program with that limit, the first block of each kernel's first launch, if that is
  // possible here: compares what it does to memory with what is announced to the tracer
  // (trace/audit.h).
  void audit(double limit_s);
  std::string audited_wrong() const;  // the sentence about a finding, which makes the counts untrue
  std::string audit_note() const;     // for the reader of the counts

  void launch(const machine::ProgramLaunch& launch) override;
  const model::Gpu* gpu() const override { return machine_.gpu; }
  bool is_late() const override;
  void note_lateness() override;
  bool any_refused() const override { return any_refused_; }
  std::span<const machine::GlobalArray> arrays() const override { return machine_.arrays; }

  std::function<void()> traced;  // called when the counts of a launch are there; may be empty
  bool any_cut_short = false;    // launches, because the program was late
  bool keep_going = false;       // after a fatal hazard
  bool only_traced = false;      // no other blocks run, because the results are not needed
  int M = 0, N = 0;              // of sgemm's product

  Kernels kernels;                 // the traced launches
  std::vector<std::string> notes;  // launches that a GPU refuses, once for each reason
  int made = 0;                    // launches
  std::exception_ptr failure;      // of a kernel that could not go on, or none
  // Whether an error of a kernel has ended main.
  bool stopped() const { return failure || (!keep_going && kernels.any_abandoned()); }

  // All launches of that kernel.
  int launches_of(const void* kernel) const;
  // Those of which no block was traced.
  int untraced = 0;

 private:
  void trace(const machine::ProgramLaunch& launch, const void* kernel);
  void add_note(const std::string& note);
  void note_doubt(const void* kernel);
  // The kernel has a fatal hazard, and the program runs on without it.
  void leave_out(const void* kernel);

  machine::Machine machine_;
  std::optional<model::Audit> audit_;
  bool any_refused_ = false;
  int most_traced_;
  double whole_s_;  // of processor time, in which launches are whole
  struct OfKernel {
    int made = 0;
    std::size_t also_traced = 0;  // launches; of them, those traced because they differ
    std::set<std::vector<std::uintptr_t>> traced;  // their shapes and pointers
  };
  std::map<const void*, OfKernel> launches_;  // by the traced copy's kernel
  std::set<const void*> volatile_;            // the same, if it has volatile accesses
  std::set<const void*> left_out_;            // by the plain copy's kernel
  // In which launches that are not counted were traced.
  double watching_s_ = 0;
};

// A whole program of a user: its own main runs on the CPU, and its launches are traced.

// Runs main in this child and reports: the table or what else `options` ask for.
guard::Outcome run_program(
    const Options& options, const std::string& command, text::Style style, std::FILE* report);

// Runs the launches of a user's sgemm, which product() calls.
void run_product(Launches& launches, const std::function<void()>& product);

// make step: each launch of a user's file is a scene.
guard::Outcome step_file(const Options& options, bool on_terminal, std::FILE* report);

// make debug: runs main or sgemm once, without tracing, for gdb. Returns the exit code.
int debug(const Options& options);

}  // namespace attempt
