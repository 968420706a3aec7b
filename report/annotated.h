// The kernel's own source with what every line of it asks of memory.
#pragma once

#include <string>

#include "report/report.h"

// Empty where row.counts knows no lines.
std::string annotated_source(const Row& row, Style style);

// A picture of the costliest request of the line that wastes most: its lanes over the sectors of
// global memory, or over the banks of shared memory. Empty where no line wastes anything.
std::string worst_request(const Row& row, Style style);

// The same counts, by array: `line` is 0.
std::vector<LineCounts> by_array(const Counts& counts);

const char* name_of(Direction direction);  // "load", "store" or "copy"

// Wavefronts or sectors for each one that the same lanes would take at best.
double waste(const LineCounts& line);
