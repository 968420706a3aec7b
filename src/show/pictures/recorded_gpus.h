// The ladder's speeds on the GPUs that are recorded in results/, and the data of their charts,
// which the pictures and the page share. make reads them from the runs' JSON, so a new file is
// known after the next make.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace pictures {

// The numbers of the yardsticks among those of the stages.
inline constexpr int kCublasFp32 = -1, kCublasTf32 = -2;

// One stage's speed, as recorded on a GPU.
struct RecordedSpeed {
  int number;
  double tflops;
  double cublas_percent;  // of the same run
  double times_before;    // the stage before it; 0 if there is none
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

// Those of an H200 at the sizes that the figures show.
std::vector<RecordedLadder> recorded_h200();

// The bandwidth of a memory.
struct Roof {
  std::string name;
  double tb_per_s;
};

// A bound of the multiplications, with each instruction that a stage multiplies with: FMA, and
// those of the tensor cores.
struct Peak {
  std::string name;
  double tflops;
  std::vector<int> stages = {};  // that multiply so
};

// "1–11, 13": of ascending numbers.
std::string in_words(const std::vector<int>& stages);

// A stage that was measured. The intensity is in operations per byte requested from global memory,
// as traced.
struct Dot {
  const lab::Row* row;
  double intensity, tflops;
};

struct Roofline {
  std::vector<Roof> roofs;  // of L1, L2 and DRAM
  std::vector<Peak> peaks;  // ascending
  std::vector<Dot> dots;
};

// `run` has the traced counts of every stage, a row each, with the variant that was measured.
Roofline roofline_of(const lab::Run& run, const RecordedLadder& measured);

// The peak of the variant's multiply instruction.
Peak peak_of(const model::Gpu& gpu, const model::Variant& variant);

// A stage that was recorded.
struct Stair {
  const model::Stage* stage;
  double tflops;
  double cublas_percent;
  double times_before;  // the stage before it; 0 for the first one on the GPU, and where it is not
                        // known
  double roof_tflops;   // of the tensor cores with its instruction; 0 if it does not use them
};

struct Staircase {
  int size;              // M = N = K
  double cublas_tflops;  // in fp32
  std::vector<Stair> stairs;
};

Staircase staircase_of(
    std::span<const model::Stage> stages, const RecordedLadder& measured, const model::Gpu& gpu);

bool runs_on_gpu(const model::Stage& stage);

}  // namespace pictures
