// A run of the program as data: what was measured, a row for each kernel or yardstick.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/measurement.h"
#include "lab/request.h"
#include "model/counts.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace lab {

// The stage after a row's in which the row's costliest request costs less (src/lab/remedy.h).
struct Remedy {
  int stage = -1;  // -1: no later stage mends it
  std::string name;
  model::LineCounts line;  // of that stage's own source
};

// One row of the table: a stage, the OpenMP CPU reference, or a cuBLAS yardstick.
struct Row : Measurement {
  int number = -1;         // -1: no stage
  int before_number = -1;  // of the stage before in the ladder; -1: none
  std::string name = {};
  const model::Stage* stage = nullptr;  // null: no stage, or stage 0
  const model::Variant* variant = nullptr;

  std::optional<Remedy> remedy = {};  // none: not looked for, or nothing to mend
  // Where the kernel of the stage before stands in the same text; 0 where there is none.
  std::string before_name = {}, before_kernel = {};
  int before_first = 0, before_last = 0;
};

struct Run {
  int M, N, K;
  float alpha, beta;
  unsigned long long seed;
  model::Gpu gpu;       // the one occupancy is worked out for
  bool gpu_present;     // kernels ran on it, and were timed
  std::string driver;   // driver and runtime version, empty without a GPU
  std::string command;  // as typed
  std::string date;     // ISO 8601, UTC
  std::vector<Row> rows;

  const Row* cublas() const;  // the cuBLAS fp32 row, null where there is none
};

// A run that begins now: without a problem's sides, and without rows. Throws a Refusal for a GPU
// that is not known.
Run new_run(const Request& request, bool gpu_present, const std::string& command);

std::string joined(int argc, char** argv);  // the command as typed

}  // namespace lab
