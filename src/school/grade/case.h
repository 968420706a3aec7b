// One shape of an exercise: what the student's kernel made of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "model/recording.h"
#include "school/grade/exercise.h"
#include "simulator/simulator.h"

namespace grade {

// A and B for `shape`, and a C in which every element is a NaN that no computation produces.
Case drawn_case(const Shape& shape, std::uint64_t seed);

// The GPU that grading assumes. Launches must keep its limits.
const model::Gpu& grading_gpu();

// Runs the student's kernel, all blocks traced, and fills in what it did: C, the counts, the
// launch. To be called under guard::watched.
void run_traced(Case& c, machine::Machine machine);

// The same under guard::watched, on fresh threads: shared memory is thread-local here, so a kernel
// that reads it before it stores would otherwise see the values of another case. `audited`: the
// accesses of its first block are compared with what was announced to the tracer.
void run_watched(Case& c, bool audited = false);

// Runs it again, and records the blocks that `recorder` selects.
void run_recorded(Case& c, model::Recorder& recorder);

// The guard of a process that calls lock_child(runs, ...), then run_watched() `runs` times, and
// run_recorded() at most as often.
guard::Guard case_guard(double limit_s, const std::string& program_name, std::size_t runs);
void lock_child(std::size_t runs, const std::string& folder, const std::string& answer);

// Gives `trace` the kernel's memory and a call of the kernel, and copies what it stores back to
// c.C. Returns whether the memory around A, B and C is unchanged.
bool on_fenced(
    Case& c,
    const std::function<
        void(std::span<const machine::GlobalArray>, const std::function<void()>& kernel)>& trace);

// Whether A, B and C lie in memory column by column, as the kernel is given them.
std::array<bool, 3> by_columns(const Multiplication& product);

// What the page calls A, B and C.
std::array<const char*, 3> array_names(const Multiplication& product);

// Fills in the rest: compares C with the reference, sets the measures, and marks missed targets.
//
// Measures, by their names in formulas: M N K and the variant's sizes; results (elements of C to
// compute), blocks, block_threads, threads (of the launch), smem_bytes (of a block, static and
// dynamic), barriers (of all blocks), bank_conflicts (loads and stores), mmas (of all warps),
// ldmatrix_rows (addresses that lanes give to ldmatrix: each counts as a smem_load of 16 bytes),
// local_bytes (of a thread), and for S of gmem_load, gmem_store, smem_load and smem_store: Ss
// (accesses: gmem_loads), S_floats, S_requests, S_sectors or S_wavefronts, and most_Ss and
// most_S_floats, those of the thread with the most. cp.async counts as a gmem_load and a
// smem_store, and also among async_copies; async_load_floats are those that it loads from global
// memory, and async_store_floats those that it stores, from any source. in_flight_bytes: the bytes
// that cp.async had in flight for a warp, summed over all requests that load from shared memory.
// box_bytes_in_flight: the bytes of boxes that may be in flight when one starts, with its own,
// summed over all starts. Each box counts as a gmem_load, a smem_store and an async copy.
// relative_error: the norm of the results' errors divided by that of the exact results; bias: the
// part of an exact result by which they are too large on average, negative if they are too small.
void measure(Case& c);

// The counts' names for the memory after a matrix, and before it: "outside of A", "outside of the
// begin of A".
inline constexpr const char* kOutside = "outside of ";
inline constexpr const char* kBefore = "outside of the begin of ";
// The floats on either side of a matrix: as many as the largest matrix has, within limits.
constexpr std::size_t fence_floats(const Shape& shape) {
  const auto [M, N, K, variant, large] = shape;
  return large ? std::clamp(std::max({M * N, M * K, N * K}), 1 << 15, 1 << 18) : 1 << 15;
}

// Gives the counts and hazards their lines in the student's file.
void annotate(Case& c);

// Throws std::invalid_argument as evaluate() does (src/model/stage.h), and for a value that is
// not finite.
double value_of(const std::string& formula, const Values& values);

}  // namespace grade
