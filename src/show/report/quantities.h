// The numbers and words that a report has of each row of a run: one table of quantities. The table,
// its legend, JSON, CSV, --explain and the experiments show parts of it, by the quantities' paths.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "show/report/facts.h"
#include "show/report/known.h"

namespace report {

// A column of a table: its heading, and the text of a row in it.
struct Column {
  // What a run must be for its table to have the column: all of these.
  enum In : unsigned {
    every_table = 0,
    timed = 1,
    traced = 2,  // without times
    wide = 4,    // --wide
    product = 8,
    program = 16,    // a whole program's kernels
    stages = 32,     // of the ladder
    kernels = 64,    // of a user's file
    recorded = 128,  // without times, which were recorded on the run's GPU at this size
    no_table = 256
  };
  enum class Align { right, left, left_label };
  // The two lines of the heading. Neighbours with the same words share a label.
  const char* top = "";
  const char* bottom = "";
  unsigned in = no_table;
  std::string (*words)(double) = nullptr;       // for the number; null: as JSON has it
  std::string (*cell)(const Known&) = nullptr;  // in place of these
  Align align = Align::right;
  // If the number is a mean of the blocks: of all, and of each.
  model::OfBlocks model::Counts::*of_blocks = nullptr;
};

// A term of --legend, and what it means.
struct Legend {
  const char* term = "";
  std::string words = {};
};

struct Quantity {
  std::string path;                              // in JSON and CSV, if they have it
  std::function<FactValue(const Known&)> value;  // null: it is only a term of the legend
  Column column = {};
  Legend legend = {};
};

// What JSON and CSV have of a row, in their order.
const std::vector<Quantity>& facts();

// Those with these paths, of the facts and of those that only tables have. Blanks are between them.
std::vector<const Quantity*> quantities(const std::string& paths);

// The value of one of them; nothing if it is not known.
std::optional<double> number(const std::string& path, const Known& known);

// Whether the number is that of a sample of blocks that differ from one another.
bool is_of_a_sample(const Quantity& quantity, const lab::Row& row);

// The text in the column; "–" if the row has none.
std::string cell_of(const Quantity& quantity, const Known& known);

// Before a thread's loads, if some of them are boxes of the copy engine.
inline constexpr const char* kBox = "□";
inline bool has_boxes(const lab::Row& row) {
  return row.counts && row.counts->box_requests > 0;
}

std::string latency_words();  // what "latency" as the bound means

}  // namespace report
