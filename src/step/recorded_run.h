// A recorded run to step through.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/recording.h"
#include "step/scene.h"
#include "trace/recorder.h"
#include "trace/trace.h"

namespace step {

// A traced run with the first two blocks of each of its launches recorded.
struct RecordedRun {
  std::vector<model::Recording> launches;
  std::string fault;  // the fault that stopped a kernel; empty if there was none
};
// What records them.
trace::Recorder step_recorder();
RecordedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host);

// A recorded launch on a problem of that size, prepared for display.
StepScene scene_of(
    model::Recording recording, const std::string& name, const std::string& fault, int M, int N,
    int K);

// For a product whose A, B or C lies in memory column by column: its picture then has a column of
// the matrix in each row.
void draw_by_columns(StepScene& scene, std::span<const bool, 3> by_columns, int M, int K);

}  // namespace step
