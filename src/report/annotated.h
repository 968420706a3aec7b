// The kernel's own source with what every line of it asks of memory.
#pragma once

#include <string>

#include "report/report.h"

// Empty where row.counts knows no lines. `folded`: of the source only what accesses memory,
// synchronizes or multiplies, and what stands around it.
std::string annotated_source(const Row& row, Style style, bool folded = false);

// The line that wastes most, null where none wastes more than a ragged edge explains, and where it
// is a cp.async: its two sides cost together what no picture of one shows.
const LineCounts* worst_line(const Row& row);

// The line of `row` that does the same to the same array, be it by cp.async: of several the worst.
// Null where there is none.
const LineCounts* same_request(const Row& row, const LineCounts& line);

// A picture of the costliest request of worst_line(): its lanes over the sectors of global memory,
// or over the banks of shared memory. Under it the same of row.remedy. Empty where nothing is
// wasted. Of more than `most_rows` sectors or wavefronts the first are drawn.
std::string worst_request(const Row& row, Style style, int most_rows = 8);

// The same counts, by array: `line` is 0.
std::vector<LineCounts> by_array(const Counts& counts);

const char* name_of(Direction direction);  // "load", "store" or "copy"

// Wavefronts or sectors for each one that the same lanes would take at best.
double waste(const LineCounts& line);
