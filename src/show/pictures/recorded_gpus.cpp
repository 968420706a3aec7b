#include "show/pictures/recorded_gpus.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/refusal.h"
#include "text/echoed.h"

namespace pictures {

RecordedSpeed RecordedLadder::of(int number) const {
  const auto found = std::ranges::find(speeds, number, &RecordedSpeed::number);
  return found == speeds.end() ? RecordedSpeed{number, 0, 0} : *found;
}

const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs) {
  constexpr int kMainSize = 4096;
  const auto found = std::ranges::find(runs, kMainSize, &RecordedLadder::size);
  return found == runs.end() ? runs.front() : *found;
}

namespace {

constexpr const char* kMain = "H200";  // the lesson's GPU

// recorded_runs.awk writes them.
const std::vector<RecordedRun>& runs() {
  static const std::vector<RecordedRun> runs = {
#include "recorded_runs.inc"
  };
  return runs;
}

// The GPU of a run. If the table of GPUs lacks it, its unknown properties are those of the table's
// first GPU with its compute capability.
model::Gpu gpu_of(const RecordedRun& run) {
  const std::string& name = run.ladder.gpu;
  if (const model::Gpu* known = model::find_gpu(name)) return *known;
  for (const model::Gpu& similar : model::known_gpus()) {
    if (!model::has_clock(similar) ||
        std::abs(similar.compute_capability - 10 * run.compute_capability) > 0.5) {
      continue;
    }
    model::Gpu gpu = similar;
    gpu.name = name;
    gpu.sms = run.sms;
    gpu.boost_ghz = run.boost_ghz;
    gpu.dram_gb_per_s = run.dram_gb_per_s;
    gpu.l2_bytes_per_clock = run.l2_bytes_per_clock;
    if (!name.empty() && gpu.sms > 0 && model::has_clock(gpu) && gpu.dram_gb_per_s > 0) return gpu;
  }
  throw model::Refusal(
      text::echoed(run.file) +
      ": its GPU is not in src/model/gpus.cpp, and the run does not describe it; record it again, "
      "or remove it from results/ and run make");
}

}  // namespace

std::vector<RecordedGpu> recorded_gpus(std::span<const RecordedRun> runs) {
  std::vector<RecordedGpu> gpus;
  for (const RecordedRun& run : runs) {
    const model::Gpu gpu = gpu_of(run);
    const auto name_of = [](const RecordedGpu& other) { return other.gpu.name; };
    auto of = std::ranges::find(gpus, gpu.name, name_of);
    if (of == gpus.end()) of = gpus.insert(gpus.end(), {gpu, {}});
    of->ladders.push_back(run.ladder);
  }
  std::ranges::sort(
      gpus, {}, [](const RecordedGpu& of) { return std::pair(of.gpu.name != kMain, of.gpu.name); });
  for (RecordedGpu& of : gpus) std::ranges::sort(of.ladders, {}, &RecordedLadder::size);
  return gpus;
}

const std::vector<RecordedGpu>& recorded_gpus() {
  static const std::vector<RecordedGpu> gpus = recorded_gpus(runs());
  return gpus;
}

}  // namespace pictures
