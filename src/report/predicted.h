// The stage table's formulas, worked out for one row of a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/run.h"
#include "model/stage.h"

namespace report {

// Counts of one thread of an interior block.
struct PredictedCounts {
  double gmem_loads = 0;
  double gmem_floats = 0;
  double smem_loads = 0;
  double smem_floats = 0;
  double gmem_stores = 0;
  double smem_stores = 0;
  double async_copies = 0;
};

// What the formulas may name: M N K, the variant's sizes, `threads`, `blocks` of the launch,
// `tiles` of C for each of them (rounded up), `reads_C` (1 where beta is not 0) and `vec` (floats a
// copy moves: 4 where the aligned kernel ran, else 1). K is 0 where alpha is, because the kernels
// then have nothing to multiply. If all tiles are cut along K, `cuts` is 1, `depth` the number of K
// tiles of a part, and `adds` the number of parts that a block adds up at the end. Otherwise a
// thread with a whole tile is meant: `cuts` and `adds` are 0, and `depth` is the number of all K
// tiles.
std::vector<model::Named> formula_names(const lab::Run& run, const lab::Row& row);

// The formulas of the row's stage, or of its variant if that has others.
const model::Predicted& formulas_of(const lab::Row& row);

// None where the row is no GPU stage. Throws what evaluate() throws.
std::optional<PredictedCounts> predicted(const lab::Run& run, const lab::Row& row);

// `formula` with numbers in place of names: "ceil(256/8) * (128*8 + 8*128) / 256".
std::string with_numbers(std::string_view formula, std::span<const model::Named> names);

}  // namespace report
