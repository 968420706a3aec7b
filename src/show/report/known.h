// A run and its rows with all that follows from them: the values of which reports are made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/run.h"
#include "model/ceiling.h"
#include "show/report/predicted.h"

namespace report {

// How the blocks fill the GPU, and how much of their work is wasted.
struct Quantization {
  std::int64_t blocks;
  double wasted;  // share of the tiles' elements that are outside C
  double idle;    // share of the SMs' time without a block, if all blocks took equally long
};

// The blocks that the GPU holds at once, in the order in which they start.
struct FirstWave {
  long long block_rows, block_columns;  // the part of C that they span
  double bytes;                         // the parts of A and B that they read
};

// What limits a timed kernel: a unit, if one is busy most of the time. Otherwise warps mostly wait
// for results: latency, which no ceiling can see.
struct BoundBy {
  bool latency;           // the busiest unit is busy less than kBusy percent of the time
  model::UnitIndex unit;  // the busiest unit, which sets the ceiling
  int percent;            // of kernel_ms in which it is busy; above 100 if that had another clock
};
inline constexpr int kBusy = 80;

// How the tiles of C are shared out among the SMs. If no tile is cut, each has one part.
struct SharedOut : model::ShareOut {
  int tiles, k_tiles;       // of C, and along K of each
  bool in_turns;            // blocks compute several tiles, or parts, one after the other
  std::int64_t sums_bytes;  // that the parts' sums take in memory

  int cut_tiles() const { return tiles - whole; }
};

// The variant that suits C, and the one to compare it with: the stage's first, or if that is
// chosen, the one for small C with which the busiest SM is done first.
struct Choice {
  const model::Variant *chosen, *other;
  bool is_first;  // `chosen` is the stage's
  model::Spread now, instead;
};

// A warp's instructions along all of K: as the trace saw the source, and as the compiler made them.
struct LoopOfWarp {
  struct {
    double written, compiled;
  } products, smem_loads, wavefronts, all;
  std::vector<std::pair<const char*, double>> loads_by_width;  // as compiled, those that it has
};

// Of a row. Found before any of it is told. Empty, or null: not known.
struct Known : lab::Ceilings {
  Known(const lab::Run& run, const lab::Row& row);

  const lab::Run& run;
  const lab::Row& row;
  const model::Counts* traced;       // if any block was
  const model::Counts* total;        // if all blocks were
  const lab::Row* before = nullptr;  // the row of the stage before, in the same run
  const char* kernel = nullptr;      // that ran, in C++ syntax
  bool is_first = false;             // its tile is the first of its stage ...
  bool is_for_small = false;         // ... or another because C is small
  std::optional<bool> aligned;
  std::optional<std::int64_t> blocks;
  std::optional<lab::Grid> grid;
  std::optional<SharedOut> shares;
  std::optional<Choice> choice;  // where the stage has several variants to choose from
  std::optional<Quantization> quantization;
  std::optional<FirstWave> first_wave;
  std::optional<double> waves, barriers_per_block, barriers_per_k_tile;
  std::optional<PredictedCounts> predicted;
  std::optional<LoopOfWarp> loop;
  std::optional<model::SharedLoads> compiled_loads;  // of the launch
  std::optional<BoundBy> bound;
  // The measured speed: divided by the ceiling, by that of cuBLAS fp32 in the same run (1 is
  // equal), and by that of the stage before.
  std::optional<double> tflops, ceiling_ratio, cublas_ratio, times_before;
  // The time of the kernel that multiplies: without that in which A and B are split before it, as
  // measured, or at least at DRAM's bandwidth. The shares of busy units are of this time.
  std::optional<double> kernel_ms;
  // Of the row's stage on the run's GPU at this size, with the tiles that suit both.
  std::optional<double> recorded_tflops;

  // As compiled if there is a record, else as written.
  const std::optional<model::Ceiling>& ceiling() const { return compiled ? compiled : written; }
};

struct KnownRun {
  KnownRun(const lab::Run& run);

  const lab::Run& run;
  std::vector<Known> rows;
  std::string why_lower;  // of each stage with a lower ceiling than the one before
  std::optional<model::DeviceState> device;  // while its rows were timed, all together
};

}  // namespace report
