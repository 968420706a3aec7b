// Nsight Compute's counts beside the traced ones, its unit utilization beside the model's, and its
// view of the caches.
#pragma once

#include <cstdio>
#include <istream>
#include <string>

#include "lab/run.h"

namespace profile {

// The metrics for `ncu --metrics` that print_profile needs, separated by commas.
std::string ncu_metrics();

// The contents of the CSV that ncu wrote, which `flag` names. Throws a Refusal.
std::string ncu_csv(const char* flag, const std::string& path);

// Reads the output of `ncu --csv --page raw --metrics ...` together with the profiled program's own
// output, and writes one line per count for every kernel of `traced`. Returns whether every row of
// `traced` with counts is there and all counts that must agree do: those of global memory, the
// stores to shared memory, and the loads from it if the source has wide loads. Throws a Refusal if
// the input is not such a CSV, or a row of `traced` is not traced in full.
bool print_profile(std::FILE* out, std::istream& ncu_csv, const lab::Run& traced);

// The same for print_units.
std::string ncu_unit_metrics();

// Reads ncu's output in the same way. For every timed stage of `timed` it writes the speed and the
// ceiling, and for each unit how much of the time it is busy: by the model at the measured speed,
// and as counted by ncu in a launch of as many blocks. Returns whether every stage with a ceiling
// is in the CSV, is between 0.6 and 1.0 of its ceiling, and is bound by the unit that was busiest
// in ncu.
bool print_units(std::FILE* out, std::istream& ncu_csv, const lab::Run& timed);

// The same for print_caches.
std::string ncu_cache_metrics();

// Reads ncu's output in the same way. For every kernel in it, cuBLAS's too, it writes what the
// caches did: hit rates of L1 and L2, the sectors between them, DRAM bytes, and the warps that
// waited. Of several launches with the same grid and shared memory the last is printed. ncu must
// have printed base units.
void print_caches(std::FILE* out, std::istream& ncu_csv);

}  // namespace profile
