// Experiments as data: a question, the launches that answer it, the columns to compare, and what to
// say of the results.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/request.h"
#include "lab/run.h"
#include "model/stage.h"
#include "text/numbers.h"

// The table of kernels.cu: the GPU's, null if nvcc did not compile it, and the copies for the CPU.
extern "C" {
const model::StageTable& experiment_table() __attribute__((weak));
const model::StageTable& experiment_table_traced();
const model::StageTable& experiment_table_plain();
}

namespace experiments {

// A launch to make.
struct PlannedLaunch {
  std::string setting;                   // how it differs from the others: "8x8", "+4"
  int stage;                             // with `variant`, in the table of kernels.cu
  std::string variant = "";              // "": the stage's first
  std::optional<lab::ProblemSize> of{};  // empty: the experiment's problem
  int padding_bytes = 0;                 // of dynamic shared memory, beyond what the kernel needs
};

// The data from which launches are chosen.
struct Plan {
  lab::ProblemSize sides;  // the problem
  model::Gpu gpu;
  const model::Stage* stage;  // for an experiment with one kernel: which one
  const model::Variant* variant;
  std::optional<model::Occupancy> occupancy;  // its own, if its registers are known
};

// A launch and its results. `run` has its problem, and cuBLAS's row if there is a GPU.
struct Trial {
  std::string setting;
  lab::Run run;
  lab::Row row;
  std::shared_ptr<const model::Variant> variant = {};  // to which the row points
};

// A sentence about at least two trials: which one to choose, how much faster it is than another,
// and the figures in which the two differ.
struct Conclusion {
  enum class Of { all, stage, row_above };  // trials that are compared; row_above: each with that
  struct Reason {
    const char* figure;  // the path of a quantity, shown as in its column
    const char* words;
  };
  Of of = Of::all;
  const char *before = "", *after = "";  // the setting, in the sentence
  bool enough = false;                   // the row is not said to be best, but enough
  bool least = false;           // the last, not the first, of those that are as fast as the fastest
  double nearly = 0.02;         // the difference up to which they are
  bool beside_slowest = false;  // else beside the first
  std::vector<Reason> reasons = {};
};

struct Experiment {
  const char* name;  // the value for --experiment
  const char* question;
  const char* setting;       // heading of Trial::setting
  int one_kernel = 0;        // the stage whose kernel all launches use; 0: each launch says it
  const char* variant = "";  // its variant, "" for the stage's first
  lab::ProblemSize otherwise{4096, 4096, 4096};  // the problem, unless flags change it
  std::vector<PlannedLaunch> (*launches)(const Plan& plan);
  const char* columns;  // paths of quantities (show/report/quantities.h)
  bool best_first = false;
  Conclusion conclusion;
  const char* note = nullptr;  // on the setting; null: none
};

// All experiments, in the order of --experiment list.
std::span<const Experiment> experiments();

// The measured TFLOP/s or, without a time, the ceiling. 0 if nothing is multiplied.
double speed(const Trial& trial);

bool is_timed(std::span<const Trial> trials);  // all trials were timed

// What the experiment shows, from these trials, in the order of its launches, or the reason why it
// shows nothing.
std::string conclusion(const Experiment& experiment, std::span<const Trial> trials);

// The table, as wide as the report (with columns that do not fit below it), or JSON, with the
// conclusion last; CSV has only the trials. `about` has the GPU, the date and the command.
void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& about,
    std::span<const Trial> trials, flags::Format format, text::Style style);

// Runs the experiment that `flags` name, or lists them all. `command` is the command as typed.
// Every launch is traced on the CPU (lab/long_product.h; --trace all: everything). On a GPU it is
// timed and compared with cuBLAS. Returns the exit code: 0, or 1 for a wrong result or a hazard.
// Throws a Refusal for an unknown name, and for flags that the experiment does not use.
int run_experiment(const flags::Flags& flags, const std::string& command);

}  // namespace experiments
