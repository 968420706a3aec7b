// Experiments as data: a question, the launches that answer it, the columns to look at, and a
// sentence computed from the results.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "report/facts.h"

namespace experiments {

struct Sides {
  int M, N, K;
};

// A launch to make.
struct Launch {
  std::string setting;      // how it differs from the others: "8x8", "+4"
  int stage;                // with `variant`, in the table of src/experiments/kernels.cu
  std::string variant;      // "": the stage's first
  std::optional<Sides> of;  // empty: the experiment's problem
  int padding_bytes = 0;    // of dynamic shared memory, beyond what the kernel needs
};

// The data from which launches are chosen.
struct Plan {
  Sides sides;  // the problem
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
};

// One quantity of a trial, for the table and for JSON and CSV.
struct Column {
  const char* fact;         // its name in JSON and CSV; null: they have it under another name
  const char* headings[2];  // one below the other
  std::string (*text)(const Trial& trial);
  report::FactValue (*value)(const Trial& trial);
  const char* legend;  // null: the heading is enough
  bool needs_gpu = false;
};

struct Experiment {
  const char* name;  // the value for --experiment
  const char* question;
  const char* setting;  // heading of Trial::setting
  int one_kernel;       // the stage whose kernel all launches use; 0: each launch says it
  const char* variant;  // its variant, "" for the stage's first
  Sides otherwise;      // the problem, unless flags change it
  std::vector<Launch> (*launches)(const Plan& plan);
  std::vector<const Column*> columns;
  bool best_first;
  // One sentence about at least two trials.
  std::string (*conclusion)(std::span<const Trial> trials);
  const char* note;  // a note on the setting; null: none
};

// All experiments, in the order of --experiment list.
std::span<const Experiment> experiments();

// What the experiment shows, from these trials: its conclusion, or the reason why there is none.
std::string conclusion(const Experiment& experiment, std::span<const Trial> trials);

}  // namespace experiments
