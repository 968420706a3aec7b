// A stage's predictions: its formulas and questions evaluated for a run, and the reader's quiz.
#pragma once

#include <array>
#include <cstdio>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"

namespace report {

struct Known;

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
// tiles of a part, and `adds` the number of parts that a block adds up at the end. Otherwise the
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

// The counts of a traced stage that a reader is asked to predict, and that are not 0: "GMEM loads
// per thread".
std::vector<AskedQuestion> asked_counts(const Known& known);

// For every one of them: prints what is counted, reads a line from `in`, and
// prints the difference. A line is a number or a formula of the stage's sizes ("2*K"). Any other
// text gets a message, and another line is read. An empty line gives up that count. Returns false,
// after a sentence, if `in` ends before the last answer.
bool quiz(std::FILE* in, std::FILE* out, const Known& known);

}  // namespace report
