#include "pictures/recorded_gpus.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/refusal.h"
#include "text/echoed.h"
#include "text/json.h"
#include "text/numbers.h"

namespace pictures {

// recorded_files.sh writes the list.
asm(".pushsection .rodata\n"
    "recorded_files:\n"
#include "recorded_files.inc"
    "recorded_files_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char recorded_files[] __attribute__((visibility("hidden")));
extern "C" const char recorded_files_end[] __attribute__((visibility("hidden")));

namespace {

constexpr const char* kMain = "H200";  // the lesson's GPU

using text::JsonValues;

std::string text_at(const JsonValues& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() ? "" : found->second;
}

// 0 where there is none.
double number_at(const JsonValues& values, const std::string& path) {
  const std::string written = text_at(values, path);
  double value = 0;
  std::from_chars(written.data(), written.data() + written.size(), value);
  return value;
}

int whole_at(const JsonValues& values, const std::string& path) {
  return static_cast<int>(std::clamp(number_at(values, path), 0.0, 1e9));
}

RecordedLadder ladder_of(const JsonValues& run) {
  if (text_at(run, "program") != "gemm_steps") {
    throw std::invalid_argument("is not a run that --json wrote");
  }
  RecordedLadder ladder{};
  const int M = whole_at(run, "problem.M");
  ladder.size = M == whole_at(run, "problem.N") && M == whole_at(run, "problem.K") ? M : 0;
  ladder.gpu = text_at(run, "gpu.name");
  const auto add = [&](int number, const std::string& row) {
    const double tflops = number_at(run, row + "tflops");
    if (tflops == 0) return;
    ladder.speeds.push_back(
        {number, tflops, 100 * number_at(run, row + "cublas_ratio"),
         number_at(run, row + "times_the_stage_before")});
  };
  for (int i = 0; !text_at(run, text::printed("stages.%d.name", i)).empty(); ++i) {
    const std::string row = text::printed("stages.%d.", i);
    add(whole_at(run, row + "number"), row);
  }
  for (int i = 0; !text_at(run, text::printed("yardsticks.%d.name", i)).empty(); ++i) {
    const std::string row = text::printed("yardsticks.%d.", i);
    if (text_at(run, row + "name") == "cuBLAS fp32") add(-1, row);
  }
  return ladder;
}

// The GPU of a run. What the run does not tell of a GPU that the table lacks is that of the first
// one there with its compute capability.
std::optional<model::Gpu> gpu_of(const JsonValues& run) {
  const std::string name = text_at(run, "gpu.name");
  if (const model::Gpu* known = model::find_gpu(name)) return *known;
  const double cc = 10 * number_at(run, "gpu.compute_capability");
  for (const model::Gpu& similar : model::known_gpus()) {
    if (!model::has_clock(similar) || std::abs(similar.compute_capability - cc) > 0.5) continue;
    model::Gpu gpu = similar;
    gpu.name = name;
    gpu.sms = whole_at(run, "gpu.sms");
    gpu.boost_ghz = number_at(run, "gpu.boost_ghz");
    gpu.dram_gb_per_s = number_at(run, "gpu.dram_gb_per_s");
    gpu.l2_bytes_per_clock = number_at(run, "gpu.l2_bytes_per_clock");
    gpu.tf32_tflops = number_at(run, "gpu.tf32_tflops");
    gpu.bf16_tflops = number_at(run, "gpu.bf16_tflops");
    if (!name.empty() && gpu.sms > 0 && model::has_clock(gpu) && gpu.dram_gb_per_s > 0) return gpu;
  }
  return std::nullopt;
}

// Not a stage or two beside cuBLAS, and not a product of other shapes.
bool is_ladder(const RecordedLadder& run) {
  return run.size > 0 && run.of(1).tflops > 0 && run.of(-1).tflops > 0;
}

struct Recording {
  std::optional<model::Gpu> gpu;
  RecordedLadder ladder;
};

Recording recording_in(std::string_view file, std::string_view contents) {
  if (file.ends_with(".json")) {
    const JsonValues run = text::json_values(contents);
    return {gpu_of(run), ladder_of(run)};
  }
  Recording recording{std::nullopt, recorded_run(contents)};
  if (const model::Gpu* known = model::find_gpu(recording.ladder.gpu)) recording.gpu = *known;
  return recording;
}

void add(std::vector<RecordedGpu>& gpus, const Recording& recording) {
  auto of = std::find_if(gpus.begin(), gpus.end(), [&](const RecordedGpu& other) {
    return other.gpu.name == recording.gpu->name;
  });
  if (of == gpus.end()) of = gpus.insert(gpus.end(), {*recording.gpu, {}});
  of->ladders.push_back(recording.ladder);
}

std::string_view next_text(std::string_view& files) {
  const std::size_t end = std::min(files.find('\0'), files.size());
  const std::string_view text = files.substr(0, end);
  files.remove_prefix(std::min(end + 1, files.size()));
  return text;
}

}  // namespace

std::vector<RecordedGpu> recorded_gpus(std::string_view files) {
  std::vector<RecordedGpu> gpus;
  while (!files.empty()) {
    const std::string_view file = next_text(files), contents = next_text(files);
    try {
      const Recording recording = recording_in(file, contents);
      if (!is_ladder(recording.ladder)) continue;
      if (!recording.gpu) {
        throw model::Refusal(
            text::echoed(file) +
            ": its GPU is not in src/model/gpus.cpp; add the run's JSON, which describes the GPU");
      }
      add(gpus, recording);
    } catch (const std::invalid_argument& problem) {
      throw model::Refusal(
          text::echoed(file) + ": " + problem.what() +
          "; record it again, or remove it from results/ and run make");
    }
  }
  std::sort(gpus.begin(), gpus.end(), [](const RecordedGpu& a, const RecordedGpu& b) {
    const bool a_is_main = a.gpu.name == kMain, b_is_main = b.gpu.name == kMain;
    return a_is_main != b_is_main ? a_is_main : a.gpu.name < b.gpu.name;
  });
  for (RecordedGpu& of : gpus) {
    std::sort(of.ladders.begin(), of.ladders.end(), [](const auto& a, const auto& b) {
      return a.size < b.size;
    });
  }
  return gpus;
}

const std::vector<RecordedGpu>& recorded_gpus() {
  static const std::vector<RecordedGpu> gpus =
      recorded_gpus(std::string_view(recorded_files, recorded_files_end));
  return gpus;
}

std::vector<RecordedLadder> recorded_h200() {
  std::vector<RecordedLadder> shown;
  for (const RecordedGpu& of : recorded_gpus()) {
    if (of.gpu.name != kMain) continue;
    for (const RecordedLadder& ladder : of.ladders) {
      const bool is_shown = ladder.size == 1024 || ladder.size == 4096 || ladder.size == 8192;
      if (is_shown) shown.push_back(ladder);
    }
  }
  return shown;
}

}  // namespace pictures
