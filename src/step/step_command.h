// --step: through one block's recorded work, on a terminal or as text.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "flags/flags.h"
#include "model/stage.h"
#include "step/step.h"
#include "trace/recorder.h"
#include "trace/trace.h"

namespace step {

// What there is to step through: `count` scenes, of which the one numbered `first` comes first.
struct StepScenes {
  int count = 1, first = 0;
  std::function<StepScene(int number)> load;
};

// Whether --step goes to a terminal: nothing is to be printed, and there is one.
bool steps_on_terminal(const flags::Flags& flags);

// Shows the scenes, on the terminal or as text on `out`. Returns the exit code: 0, or 1 where a
// frame was printed of a scene in which a hazard or a fault was found.
int step(const flags::Flags& flags, const StepScenes& scenes, bool on_terminal, std::FILE* out);

// A traced run with the first two blocks of each of its launches recorded.
struct RecordedRun {
  std::vector<model::Recording> launches;
  std::string fault;  // what a kernel did so that it could not go on; empty where all went on
};
RecordedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host);

// A recorded launch on a problem of that size, made ready to be shown.
StepScene scene_of(
    model::Recording recording, const std::string& name, const std::string& fault, int M, int N,
    int K);

// gemm_steps --step: the stages of `traced`, a table whose kernels have the tracer's hooks, at
// sizes of two blocks and two tiles of K.
int step_stages(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace step
