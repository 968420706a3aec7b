#include "step/recorded_run.h"

#include <algorithm>
#include <set>

#include "lab/run.h"
#include "machine/symbols.h"
#include "pictures/block_requests.h"
#include "report/hazard_sentence.h"
#include "text/echoed.h"
#include "text/numbers.h"
#include "trace/recorder.h"
#include "trace/source_lines.h"

namespace step {

namespace {

constexpr std::size_t kMostSteps = 200'000;

// The kernel's own. A recording lists the shared arrays of every kernel in the program.
std::set<int> used_arrays(const model::Recording& recording) {
  std::set<int> used;
  for (const model::RecordedSite& site : recording.sites) used.insert(site.array);
  for (const model::RecordedAction& action : recording.actions) used.insert(action.array);
  return used;
}

}  // namespace

trace::Recorder step_recorder() {
  return {{0, 1}, kMostSteps};
}

RecordedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host) {
  trace::Recorder recorder = step_recorder();
  machine.recorder = &recorder;
  machine.blocks = machine::Blocks::kSample;
  RecordedRun run;
  try {
    trace::trace(machine, arrays, host);
  } catch (const machine::KernelFault& fault) {
    run.fault = fault.what();
  }
  run.launches = std::move(recorder.launches);
  return run;
}

StepScene scene_of(
    model::Recording recording, const std::string& name, const std::string& fault, int M, int N,
    int K) {
  StepScene scene;
  scene.name = name;
  scene.fault = fault;
  const auto& [x, y, z] = recording.grid;
  scene.problem = M > 0 ? text::printed("C (%d x %d), K = %d", M, N, K)
                        : text::printed("grid %u x %u x %u", x, y, z);
  const trace::SourceRange lines = trace::kernel_lines(recording.kernel);
  trace::resolve_lines(recording, lines);
  scene.source = text::shown_lines(trace::source_text(lines.file));
  scene.source_first = lines.first;
  scene.source_last = lines.last;

  const std::string kernel = machine::function_name(recording.kernel);
  const std::set<int> used = used_arrays(recording);
  for (std::size_t i = 0; i < recording.arrays.size(); ++i) {
    const model::RecordedArray& array = recording.arrays[i];
    scene.row_words.push_back(
        !array.shared            ? std::max(1, array.name == "A" ? K : N)
        : !used.contains(int(i)) ? recording.warp.banks
                                 : pictures::declared_row_words(
                                       scene.source, lines.first, lines.last, kernel, array.name,
                                       array.bytes, recording.warp.banks));
  }

  const model::RecordedExtent grid = recording.grid, block = recording.block;
  model::Variant variant{};
  variant.kernel.name = kernel.c_str();
  variant.block_x = static_cast<int>(block.x);
  lab::Row row;
  row.variant = &variant;
  row.launch = lab::LaunchShape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0, 0, 1};
  lab::Run run{};
  run.M = M;
  run.N = N;
  run.K = K;
  for (const model::RecordedHazard& recorded : recording.hazards) {
    scene.sentences.push_back(report::hazard_sentence(recorded.hazard, run, row));
  }
  scene.recording = std::move(recording);
  return scene;
}

void draw_by_columns(StepScene& scene, std::span<const bool, 3> by_columns, int M, int K) {
  const std::string names = "ABC";
  const int lengths[] = {M, K, M};
  for (std::size_t i = 0; i < scene.row_words.size(); ++i) {
    const model::RecordedArray& array = scene.recording.arrays[i];
    const std::size_t matrix = array.name.size() == 1 ? names.find(array.name) : names.npos;
    if (array.shared || matrix == names.npos || !by_columns[matrix]) continue;
    scene.row_words[i] = std::max(1, lengths[matrix]);
  }
}

}  // namespace step
