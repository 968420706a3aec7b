// A run and its rows with all that follows from them: the values of which reports are made; and a
// stage's predictions: its formulas and questions evaluated for a run, and the reader's quiz.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/run.h"
#include "model/ceiling.h"
#include "model/stage.h"

namespace report {

// A count of one thread: its name in JSON and in words, its formula, and where its values are.
struct PerThreadCount {
  const char* path;
  const char* what;  // empty: as of the count before
  const char* unit;
  const char* model::Predicted::*formula;
  model::Traffic model::Counts::*traffic;
  model::PerThread model::Traffic::*of_traffic = &model::Traffic::accesses;

  const model::PerThread& traced(const model::Counts& counts) const {
    return counts.*traffic.*of_traffic;
  }
};

inline constexpr PerThreadCount kPerThread[] = {
    {"gmem_loads_per_thread", "GMEM loads", "accesses", &model::Predicted::gmem_loads,
     &model::Counts::gmem_loads},
    {"gmem_floats_per_thread", "", "floats", &model::Predicted::gmem_floats,
     &model::Counts::gmem_loads, &model::Traffic::floats},
    {"smem_loads_per_thread", "SMEM loads", "accesses", &model::Predicted::smem_loads,
     &model::Counts::smem_loads},
    {"smem_floats_per_thread", "", "floats", &model::Predicted::smem_floats,
     &model::Counts::smem_loads, &model::Traffic::floats},
    {"gmem_stores_per_thread", "GMEM stores", "accesses", &model::Predicted::gmem_stores,
     &model::Counts::gmem_stores},
    {"smem_stores_per_thread", "SMEM stores", "accesses", &model::Predicted::smem_stores,
     &model::Counts::smem_stores},
    {"async_copies_per_thread", "cp.async", "copies", &model::Predicted::async_copies,
     &model::Counts::async_gmem}};

// Of one thread of an interior block, each as in kPerThread.
using PredictedCounts = std::array<double, std::size(kPerThread)>;

// The names that formulas may use: M N K, the variant's sizes, `threads`, `blocks` of the launch,
// `tiles` of C for each of them (rounded up), `reads_C` (1 if beta is not 0) and `vec` (the floats
// that a copy moves: 4 if the aligned kernel ran, else 1). K is 0 if alpha is, because the kernels
// then have nothing to multiply. If all tiles are cut along K, `cuts` is 1, `depth` the number of K
// tiles of a slice, and `adds` the number of slices that a block adds up at the end. Otherwise the
// formulas are for a thread with a whole tile: `cuts` and `adds` are 0, and `depth` is the number
// of all K tiles.
std::vector<model::Named> formula_names(const lab::Run& run, const lab::Row& row);

// The formulas of the row's stage, or of its variant if that has others.
const model::Predicted& formulas_of(const lab::Row& row);

// None if the row is not a GPU stage. Throws what evaluate() throws.
std::optional<PredictedCounts> predicted(const lab::Run& run, const lab::Row& row);

// `formula` with numbers in place of names: "ceil(256/8) * (128*8 + 8*128) / 256".
std::string with_numbers(std::string_view formula, std::span<const model::Named> names);

// A question to the reader with its value, if the row has it: traced, or computed.
struct AskedQuestion {
  std::string text, because;  // because: in one or two sentences
  std::optional<double> value = {};
  std::string worked_out = {};  // "formula = numbers = value unit"
};

// Those of the row's stage, or of its variant if that has others, that make sense on the run's GPU.
// In addition to formula_names(), their formulas may use `pipeline` and these values, traced or
// computed for `row`: `sectors` (per GMEM load request), `wavefronts` (per SMEM load request),
// `conflicts` (of all SMEM requests, in the traced blocks), `blocks_per_sm` and `warps_per_sm`.
std::vector<AskedQuestion> questions_of(const lab::Run& run, const lab::Row& row);

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

// How the tiles of C are shared out among the SMs. If no tile is cut, each is one slice.
struct SharedOut : model::ShareOut {
  int tiles, k_tiles;       // of C, and along K of each
  bool in_turns;            // blocks compute several tiles, or slices, one after the other
  std::int64_t sums_bytes;  // that the slices' sums take in memory

  int cut_tiles() const { return tiles - whole; }
};

// The variant that suits C, and the one to compare it with: the stage's first, or if that is
// chosen, the one for small C with which the busiest SM is done first.
struct Choice {
  const model::Variant *chosen, *other;
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
  std::optional<FirstWave> first_wave;
  std::optional<double> wasted;  // share of the tiles' elements that are outside C
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

// What a reader is asked to predict of a traced stage: its counts that are not 0 ("GMEM loads per
// thread?"), then the questions of its lesson, all with their values.
std::vector<AskedQuestion> asked(const Known& known);

// Prints each of them, reads a line from `in`, and prints the difference. A line is a number or a
// formula of the stage's sizes ("2*K"). The first wrong number gets a second try, any other text a
// message. An empty line gives up. Returns false, after a sentence, if `in` ends early.
bool quiz(std::FILE* in, std::FILE* out, const Known& known);

}  // namespace report
