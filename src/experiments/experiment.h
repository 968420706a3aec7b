// Experiments as data: a question, the launches that answer it, the figures to look at, and a
// sentence worked out from them.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/facts.h"
#include "report/report.h"

namespace experiments {

struct Sides {
  int M, N, K;
};

// A launch to make.
struct Case {
  std::string setting;      // what sets it apart from the others: "8x8", "+4"
  int stage;                // with `variant`, of the table of src/experiments/kernels.cu
  std::string variant;      // "": the stage's default
  std::optional<Sides> of;  // none: the experiment's problem
  int padding_bytes = 0;    // of dynamic shared memory, beyond what the kernel asks for
};

// What there is to choose cases from.
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
  int one_kernel;       // the stage whose kernel all cases launch; 0: cases say
  const char* variant;  // its variant, "" for the default
  Sides otherwise;      // the problem, unless flags say otherwise
  std::vector<Case> (*cases)(const Plan& plan);
  std::vector<const Column*> columns;
  bool best_first;
  // One sentence, of at least two trials.
  std::string (*conclusion)(std::span<const Trial> trials);
  const char* note;  // what to know about the setting; null: nothing
};

// All of them, in the order of --experiment list.
std::span<const Experiment> experiments();

// TFLOP/s as measured or, without a time, the ceiling: as compiled where that is recorded, else as
// written. None where nothing is multiplied.
std::optional<double> speed(const Trial& trial);

// Of a launch: requests that load from shared memory, as the source says it, and as the compiler
// made it where that is recorded. The traced blocks stand for all.
std::optional<double> shared_loads_written(const Trial& trial);
std::optional<double> shared_loads_compiled(const Trial& trial);

// Where blocks come from, and what they do in vain.
struct Quantization {
  long long blocks;
  double wasted;  // share of the tiles' elements that lie outside of C
  double waves;   // 0 where the occupancy is not known
  double idle;    // share of the SMs' time without a block, were all blocks equally long
};
Quantization quantization(const Trial& trial);

// The blocks that the GPU holds at once, taken in the order in which they start.
struct FirstWave {
  long long block_rows, block_columns;  // of C, that they reach over
  double bytes;                         // of A and B, that they read
};
std::optional<FirstWave> first_wave(const Trial& trial);

bool is_timed(std::span<const Trial> trials);  // all were

// What the experiment shows, from these trials: its conclusion, or why there is none.
std::string conclusion(const Experiment& experiment, std::span<const Trial> trials);

// The table, at most 100 columns wide, or JSON, the conclusion last; CSV has the trials alone.
// `about` has the GPU, the date and the command.
void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& about,
    std::span<const Trial> trials, report::Format format, text::Style style);

void print_experiments(std::FILE* out, report::Format format);  // --experiment list

}  // namespace experiments
