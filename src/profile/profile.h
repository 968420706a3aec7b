// Nsight Compute's counts beside the traced ones, and how busy it saw each unit beside the model.
#pragma once

#include <cstdio>
#include <istream>
#include <string>

#include "lab/run.h"

namespace profile {

// What `ncu --metrics` has to be given for print_profile, separated by commas.
std::string ncu_metrics();

// Reads what `ncu --csv --page raw --metrics ...` printed, together with whatever the profiled
// program printed, and writes for every kernel of `traced` a line a count. Returns whether each row
// of `traced` with counts is there and all of its counts agree that have to: those of global
// memory, the stores to shared memory, and the loads from it where the source has them wide. Throws
// Refusal where the input is no such CSV, or a row of `traced` is not traced in full.
bool print_profile(std::FILE* out, std::istream& ncu_csv, const lab::Run& traced);

// The same for print_units.
std::string ncu_unit_metrics();

// Reads ncu's output likewise, and writes for every timed stage of `timed` its speed and ceiling,
// and for each unit how much of the time it is busy: worked out by the model at the measured speed,
// and counted by ncu. Returns whether every stage with a ceiling is in the CSV, lies between 0.6
// and 1.0 of it, and is bound by the unit that ncu saw busiest.
bool print_units(std::FILE* out, std::istream& ncu_csv, const lab::Run& timed);

}  // namespace profile
