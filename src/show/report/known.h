// A row of a run with all that follows from it: the values of which reports are made.
#pragma once

#include <cstdint>
#include <optional>
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

// Found before any of it is told. Empty, or null: not known.
struct Known {
  Known(const lab::Run& run, const lab::Row& row);

  const lab::Run& run;
  const lab::Row& row;
  const model::Counts* traced;   // if any block was
  const model::Counts* total;    // if all blocks were
  const char* kernel = nullptr;  // that ran, in C++ syntax
  std::optional<bool> aligned;
  std::optional<std::int64_t> blocks, workspace_bytes;
  std::optional<int> cut_tiles;
  std::optional<model::ShareOut> shares;  // if no tile is cut, each has one part
  std::optional<Quantization> quantization;
  std::optional<FirstWave> first_wave;
  std::optional<double> waves, barriers_per_block, barriers_per_k_tile;
  std::optional<PredictedCounts> predicted;
  std::optional<model::CompiledKernel> record;
  std::optional<model::SharedLoads> compiled_loads;  // of the launch
  std::optional<model::Ceiling> written, compiled;
  std::optional<model::Waiting> waiting;
  std::optional<lab::BoundBy> bound;
  std::optional<double> tflops, recorded_tflops;

  // As compiled if there is a record, else as written.
  const std::optional<model::Ceiling>& ceiling() const { return compiled ? compiled : written; }
};
std::vector<Known> known_of(const lab::Run& run);  // its rows

}  // namespace report
