// The results for a kernel on a problem: counts, hazards, time and error.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/compiled_kernel.h"
#include "model/counts.h"
#include "model/error.h"
#include "model/gpus.h"

namespace lab {

struct Timing {
  double median_ms;
  double min_ms;
  double max_ms;
  double quartile1_ms, quartile3_ms;  // half of the times lie between them
  int repetitions;
  bool partial = false;  // scaled up from the first rows (the serial loop at large sizes)

  // On a GPU: how long it had worked for this program before, without a pause of more than a
  // second, and its sensors during the measurement, if they could be read.
  std::optional<double> busy_before_ms = {};
  std::optional<model::DeviceState> device = {};
};

// The wall-clock time that it takes on the CPU.
double milliseconds_of(const std::function<void()>& work);

// Requires at least one time.
Timing summary(std::vector<double> times_ms);

// How a kernel that is not a stage was launched.
struct LaunchShape {
  struct Extent {
    unsigned x, y, z;
  } grid, block;
  int static_shared_bytes, dynamic_shared_bytes;
  int launches;  // for this kernel; the launch shape is that of the first launch
};

// A user's loads from shared memory as nvcc made them, or why that is not known.
struct SharedLoads {
  std::string architecture;  // "sm_86"
  std::optional<model::CompiledLoads> compiled;
  std::string why_unknown;  // a sentence; empty: they are known
};

struct Measurement {
  std::optional<LaunchShape> launch;    // for a kernel that is not a stage
  bool aligned = true;                  // Variant::kernel ran; else Variant::kernel_any
  std::optional<model::Counts> counts;  // with the hazards; empty: not traced
  std::optional<model::Occupancy> occupancy;
  std::optional<Timing> time;          // empty: traced only
  std::optional<model::Error> error;   // against the fp64 CPU reference
  std::optional<double> cublas_error;  // relative (Frobenius), against cuBLAS fp32

  // The source text to which counts->lines refers, and the first and last line of the kernel in it
  // (from 1); 0 if unknown.
  std::string source, source_file;
  int source_first = 0, source_last = 0;

  std::optional<SharedLoads> shared_loads;  // empty: not a user's file
};

}  // namespace lab
