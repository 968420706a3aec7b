// Experiments as data: a question, the launches that answer it, the columns to compare, and a
// sentence computed from the results.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "lab/run.h"
#include "model/stage.h"
#include "show/report/quantities.h"
#include "text/numbers.h"

// The table of kernels.cu: the GPU's, null if nvcc did not compile it, and the copies for the CPU.
extern "C" {
const model::StageTable& experiment_table() __attribute__((weak));
const model::StageTable& experiment_table_traced();
const model::StageTable& experiment_table_plain();
}

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

struct Experiment {
  const char* name;  // the value for --experiment
  const char* question;
  const char* setting;  // heading of Trial::setting
  int one_kernel;       // the stage whose kernel all launches use; 0: each launch says it
  const char* variant;  // its variant, "" for the stage's first
  Sides otherwise;      // the problem, unless flags change it
  std::vector<Launch> (*launches)(const Plan& plan);
  const char* columns;  // paths of quantities (show/report/quantities.h)
  bool best_first;
  // One sentence about at least two trials.
  std::string (*conclusion)(std::span<const Trial> trials);
  const char* note;  // a note on the setting; null: none
};

// All experiments, in the order of --experiment list.
std::span<const Experiment> experiments();

// What the experiment shows, from these trials: its conclusion, or the reason why there is none.
std::string conclusion(const Experiment& experiment, std::span<const Trial> trials);

// Values computed from one trial, before they are printed or judged.

// A quantity of the trial, by its name in JSON; nothing if it has none.
std::optional<double> figure(const Trial& trial, const std::string& name);

// The measured TFLOP/s or, without a time, the ceiling. Nothing if nothing is multiplied.
std::optional<double> speed(const Trial& trial);

bool is_timed(std::span<const Trial> trials);  // all trials were timed

// Comparisons of trials in words, as parts of conclusions.

using Trials = std::span<const Trial>;

// Speeds that differ by less than this count as equal, because timings repeat only within about a
// percent.
inline constexpr double kSame = 0.02;
bool same(double a, double b);

double speed_of(const Trial& trial);  // 0 if it has none
const Trial& fastest(Trials trials);
const Trial& slowest(Trials trials);

// "5.98 TFLOP/s", or without a time "a ceiling of 5.98 TFLOP/s".
std::string pace(const Trial& trial);
// The speed of `a` relative to `b`: "1.32 times as fast as", "as fast as".
std::string beside(const Trial& a, const Trial& b);

double percent_of(const Trial& trial);  // its occupancy; 0 if unknown
// "occupancy falls from 100 to 33 %"
std::string course_of_occupancy(const Trial& from, const Trial& to);

std::string stage_of(const Trial& trial);  // "stage 5"
std::vector<Trial> of_stage(Trials trials, int number);
std::vector<int> stage_numbers(Trials trials);  // each once, in order

std::string joined(const std::vector<std::string>& parts, const char* between, const char* last);
std::string listed(const std::vector<std::string>& parts);  // "1, 2 and 3"

// What an experiment shows, in one sentence computed from its trials. Each function takes at least
// two trials, in the order of the experiment's launches, each with a speed.

std::string coarsening_shows(std::span<const Trial> trials);
std::string block_shape_shows(std::span<const Trial> trials);
std::string swapped_grid_shows(std::span<const Trial> trials);
std::string tile_sizes_shows(std::span<const Trial> trials);
std::string padding_shows(std::span<const Trial> trials);
std::string stages_shows(std::span<const Trial> trials);
std::string one_change_shows(std::span<const Trial> trials);
std::string shapes_shows(std::span<const Trial> trials);
std::string occupancy_shows(std::span<const Trial> trials);

// The launches that each experiment makes.

std::vector<Launch> coarsening(const Plan& plan);
std::vector<Launch> block_shape(const Plan& plan);
std::vector<Launch> swapped_grid(const Plan& plan);
std::vector<Launch> tile_sizes(const Plan& plan);
std::vector<Launch> padding(const Plan& plan);
std::vector<Launch> pipeline_stages(const Plan& plan);
std::vector<Launch> one_change(const Plan& plan);
std::vector<Launch> shapes(const Plan& plan);
std::vector<Launch> occupancy_walk(const Plan& plan);

// Prints the results of an experiment.

// The table, as wide as the report (with columns that do not fit below it), or JSON, with the
// conclusion last; CSV has only the trials. `about` has the GPU, the date and the command.
void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& about,
    std::span<const Trial> trials, flags::Format format, text::Style style);

void print_experiments(std::FILE* out, flags::Format format);  // --experiment list

// --experiment NAME: makes the launches of an experiment and prints what they show.

// Runs the experiment that `flags` name, or lists them all. `command` is the command as typed.
// Every launch is traced on the CPU: some blocks, for two short K, from which the counts for the
// whole K are extrapolated (--trace all: everything). On a GPU it is timed and compared with
// cuBLAS; without one, the traced result is compared with fp64. Returns the exit code: 0, or 1 for
// a wrong result or a hazard. Throws a Refusal for an unknown name, and for flags that the
// experiment does not use.
int run_experiment(const flags::Flags& flags, const std::string& command);

// The tables of src/experiments/kernels.cu, and the variants in them.

// The kernels' own copies rather than their traced ones, for registers and names.
const model::StageTable& own_table();

struct Place {
  std::size_t stage, variant;
};

// The position of that variant in a table; "" is the stage's first.
Place find(int number, const std::string& variant);

// The variant from the table, with this much more shared memory.
model::Variant variant_in(const model::StageTable& table, Place place, int padding_bytes);

// What the flags choose: an experiment, its problem and its launches.

// Throws a Refusal that lists all experiments if there is none with that name.
const Experiment& find_experiment(const std::string& name);

void refuse_useless_flags(const flags::Flags& flags, const Experiment& experiment);

// --m, --n and --k override --size, which overrides the experiment's own sizes.
Sides sides_of(const flags::Flags& flags, const Experiment& experiment);

// The experiment's launches, or those of --stage. `about` has the GPU.
std::vector<Launch> launches_of(
    const flags::Flags& flags, const lab::Run& about, const Experiment& experiment);

}  // namespace experiments
