// A run of the program as data: the measurements, with a row for each kernel or reference.
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

// The later stage in which the row's costliest request costs less (src/lab/remedy.h).
struct Remedy {
  int stage = -1;  // -1: no later stage improves it
  std::string name;
  model::LineCounts line;  // in that stage's own source
};

// One row of the table: a stage, the OpenMP CPU reference, or cuBLAS.
struct Row : Measurement {
  int number = -1;         // -1: not a stage
  int before_number = -1;  // the previous stage, or a contrast's own; -1: none
  std::string name = {};
  const model::Stage* stage = nullptr;  // null: not a stage, or stage 0
  const model::Variant* variant = nullptr;

  std::string why_not_run = {};  // what the GPU lacks (model/stage.h); empty: it lacks nothing
  std::optional<Remedy> remedy = {};  // empty: not searched for, or nothing to improve
  // The lines of the previous stage's kernel in the same text; 0 if there is none.
  std::string before_name = {}, before_kernel = {};
  int before_first = 0, before_last = 0;
};

struct Run {
  int M, N, K;
  float alpha, beta;
  unsigned long long seed;
  model::Gpu gpu;       // the GPU for which occupancy is computed
  bool gpu_present;     // kernels ran on it and were timed
  std::string driver;   // driver and runtime versions, empty without a GPU
  std::string command;  // as typed
  std::string date;     // ISO 8601, UTC
  std::vector<Row> rows;
  // The file of a whole program, which ran by itself and ended with that code; empty: a product.
  std::string program = {};
  int exit_code = 0;
  bool stopped = false;  // by an error of a kernel, before its end
  Data data = Data::uniform;
  bool unended = false;        // it has not ended; the rows are what is known until now
  std::string types = "fp32";  // of A, B and C
  std::string cpu = "";        // its name, empty if it is not known
  int threads = 0;             // of the rows that run on it

  const Row* cublas() const;  // the cuBLAS fp32 row; null if there is none
};

// A new run, without sizes and rows. Throws a Refusal for an unknown GPU.
Run new_run(const Request& request, bool gpu_present, const std::string& command);

std::string joined(int argc, char** argv);  // the command as typed

}  // namespace lab
