// The columns of the table: their headings, and what a row has to say in each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/run.h"

namespace report {

struct Column {
  enum class In {
    every_table,
    timed,           // a table with times
    wide,            // --wide
    product,         // of kernels that compute C
    timed_product,   // with times
    timed_and_wide,  // --wide, with times
    traced_product,  // without times
    recorded,        // without times, which were recorded on the run's GPU at this size
    program          // of a whole program's kernels
  };
  enum class Align { left, right };
  // The two lines of the heading. Neighbours with the same words share them.
  const char* top;
  const char* bottom;
  In in = In::every_table;
  Align cells = Align::right;
  Align label = Align::right;
  int goes = 0;             // as the how many-th where the line is too long; 0: it stays
  const char* name = "";    // in the sentence that says which ones went
  bool is_a_count = false;  // and so compared with the stage before
  std::optional<double> (*number)(const lab::Run&, const lab::Row&) = nullptr;
  std::string (*words)(double) = nullptr;                           // for the number
  std::string (*cell)(const lab::Run&, const lab::Row&) = nullptr;  // where it is none
};

// Those of a table of this run, in order.
std::vector<const Column*> columns_of(const lab::Run& run, bool wide);

// What stands in the column; "–" where the row has nothing to say.
std::string cell_of(const Column& column, const lab::Run& run, const lab::Row& row);

// The count in which the row differs most from the stage before, by its ratio; null where there is
// no stage before in the run, or none differs.
const Column* most_changed(
    const std::vector<const Column*>& columns, const lab::Run& run, const lab::Row& row);

}  // namespace report
