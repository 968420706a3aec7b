// The ladder's speeds on the GPUs that are recorded in results/. make reads them from the runs'
// JSON, so a new file is known after the next make.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/gpus.h"

namespace pictures {

// The numbers of the yardsticks among those of the stages.
inline constexpr int kCublasFp32 = -1, kCublasTf32 = -2;

// One stage's speed, as recorded on a GPU.
struct RecordedSpeed {
  int number;
  double tflops;
  double times_before;  // the stage before it; 0 if there is none
};

struct RecordedLadder {
  int size;  // M = N = K
  std::vector<RecordedSpeed> speeds;
  std::string gpu = {};  // its name

  // Zeros if it was not recorded.
  RecordedSpeed of(int number) const;
};

// The size that the lesson uses: 4096.
const RecordedLadder& main_run(const std::vector<RecordedLadder>& runs);

struct RecordedGpu {
  model::Gpu gpu;
  std::vector<RecordedLadder> ladders;  // by size
};

// A run of the ladder, as recorded_runs.awk reads it from its JSON.
struct RecordedRun {
  std::string file;
  double compute_capability;  // 9.0
  int sms;
  double boost_ghz, dram_gb_per_s, l2_bytes_per_clock;
  RecordedLadder ladder;
};

// The H200, which the lesson uses, is first; the others follow by name. Throws a Refusal that names
// the file if its GPU is not known.
const std::vector<RecordedGpu>& recorded_gpus();
std::vector<RecordedGpu> recorded_gpus(std::span<const RecordedRun> runs);

}  // namespace pictures
