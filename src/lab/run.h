// A run of the program as data: what was measured, a row for each kernel or yardstick.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/counts.h"
#include "model/error.h"
#include "model/gpus.h"
#include "model/occupancy.h"
#include "model/stage.h"

namespace lab {

struct Timing {
  double median_ms;
  double min_ms;
  double max_ms;
  int repetitions;
  bool partial = false;  // scaled up from the first rows (the serial loop at large sizes)
};

// How a kernel that is no stage was launched.
struct LaunchShape {
  struct Extent {
    unsigned x, y, z;
  } grid, block;
  int static_shared_bytes, dynamic_shared_bytes;
  int launches;  // of this kernel; the shape is the first one's
};

// The stage after a row's in which the row's costliest request wastes less.
struct Remedy {
  int stage = -1;  // -1: no later stage mends it
  std::string name;
  model::LineCounts line;  // of that stage's own source
};

// One row of the table: a stage, the OpenMP CPU reference, or a cuBLAS yardstick.
struct Row {
  int number = -1;         // -1: no stage
  int before_number = -1;  // of the stage before in the ladder; -1: none
  std::string name;
  const model::Stage* stage = nullptr;  // null: no stage, or stage 0
  const model::Variant* variant = nullptr;
  std::optional<LaunchShape> launch;  // of a kernel that is no stage
  bool aligned = true;                // variant->kernel ran; else variant->kernel_any
  std::optional<model::Counts> counts;
  std::optional<model::Occupancy> occupancy;
  std::optional<Timing> time;          // none: traced only
  std::optional<model::Error> error;   // against the fp64 CPU reference
  std::optional<double> cublas_error;  // relative (Frobenius), against cuBLAS fp32

  std::optional<Remedy> remedy;  // none: not looked for, or nothing to mend

  // The text that counts->lines speaks of, and where the kernel stands in it (lines from 1); 0
  // where that is not known.
  std::string source;
  int source_first = 0, source_last = 0;
  // The same of the stage before; 0 where there is none.
  std::string before_name, before_kernel;
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

}  // namespace lab
