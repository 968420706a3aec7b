// Experiments as data: a question, the launches that answer it, the figures to look at, and a
// sentence worked out from them.
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
  std::string setting;      // what sets it apart from the others: "8x8", "+4"
  int stage;                // with `variant`, of the table of src/experiments/kernels.cu
  std::string variant;      // "": the stage's default
  std::optional<Sides> of;  // none: the experiment's problem
  int padding_bytes = 0;    // of dynamic shared memory, beyond what the kernel asks for
};

// What there is to choose launches from.
struct Plan {
  Sides sides;  // the problem
  model::Gpu gpu;
  const model::Stage* stage;  // of an experiment with one kernel: which
  const model::Variant* variant;
  std::optional<model::Occupancy> occupancy;  // its own, where its registers are known
};

// A launch that was made. `run` has its problem, and cuBLAS's row where there is a GPU.
struct Trial {
  std::string setting;
  lab::Run run;
  lab::Row row;
};

// One figure of a trial, for the table and for machines.
struct Column {
  const char* fact;         // its name in JSON and CSV; null: they have it elsewhere
  const char* headings[2];  // one below the other
  std::string (*text)(const Trial& trial);
  report::FactValue (*value)(const Trial& trial);
  const char* legend;  // null: the heading says it all
  bool needs_gpu = false;
};

struct Experiment {
  const char* name;  // what --experiment takes
  const char* question;
  const char* setting;  // heading of Trial::setting
  int one_kernel;       // the stage whose kernel all launches have; 0: launches say
  const char* variant;  // its variant, "" for the default
  Sides otherwise;      // the problem, unless flags say otherwise
  std::vector<Launch> (*launches)(const Plan& plan);
  std::vector<const Column*> columns;
  bool best_first;
  // One sentence, of at least two trials.
  std::string (*conclusion)(std::span<const Trial> trials);
  const char* note;  // what to know about the setting; null: nothing
};

// All of them, in the order of --experiment list.
std::span<const Experiment> experiments();

// What the experiment shows, from these trials: its conclusion, or why there is none.
std::string conclusion(const Experiment& experiment, std::span<const Trial> trials);

}  // namespace experiments
