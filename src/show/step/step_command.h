// --step: steps through one block's recorded work, on a terminal or as text.
#pragma once

#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flags/flags.h"
#include "model/recording.h"
#include "model/stage.h"
#include "show/step/scene.h"
#include "simulator/simulator.h"

namespace step {

// A traced run with the first two blocks of each of its launches recorded.
struct SteppedRun {
  std::vector<model::Recording> launches;
  std::string fault;  // the fault that stopped a kernel; empty if there was none
};
// What records them.
model::Recorder step_recorder();
SteppedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host);

// A recorded launch on a problem of that size, prepared for display. `remedy` is that of
// report::hazard_sentence.
StepScene scene_of(
    model::Recording recording, const std::string& name, const std::string& fault, int M, int N,
    int K, const std::optional<std::string>& remedy = {});

// For a product whose A, B or C lies in memory column by column: its picture then has a column of
// the matrix in each row.
void draw_by_columns(StepScene& scene, std::span<const bool, 3> by_columns, int M, int K);

// `count` scenes; the one numbered `first` is shown first.
struct StepScenes {
  int count = 1, first = 0;
  std::function<StepScene(int number)> load;
};

// Whether --step uses a terminal: printing was not requested, and there is a terminal.
bool steps_on_terminal(const flags::Flags& flags);

// Shows the scenes, on the terminal or as text on `out`. Returns the exit code: 0, or 1 if it
// printed a frame of a scene with a hazard or a fault.
int step(const flags::Flags& flags, const StepScenes& scenes, bool on_terminal, std::FILE* out);

// gemm_steps --step: shows the stages of `traced`, a table whose kernels have the tracer's hooks,
// at sizes of two blocks and two tiles of K.
int step_stages(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace step
