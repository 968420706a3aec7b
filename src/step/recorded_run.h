// A run that is recorded, to be stepped through.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/recording.h"
#include "step/scene.h"
#include "trace/trace.h"

namespace step {

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

}  // namespace step
