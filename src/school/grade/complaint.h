// Turns what a kernel did into messages for the student.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/warp_access.h"
#include "school/grade/exercise.h"
#include "simulator/simulator.h"
#include "text/numbers.h"

namespace grade {

// Threads and blocks by their coordinates, as CUDA code names them.

inline std::string pair_text(std::int64_t number, std::int64_t across) {
  return text::printed(
      "(%lld, %lld)", static_cast<long long>(number % across),
      static_cast<long long>(number / across));
}

// "(3, 0)", from a thread's number in its block.
inline std::string thread_name(const Case& c, std::int64_t thread) {
  return pair_text(thread, c.row.launch->block.x);
}

// "(1, 4)", from a block's number in the launch.
inline std::string block_name(const Case& c, std::int64_t block) {
  return pair_text(block, c.row.launch->grid.x);
}

// The elements of an exercise's matrices, named as its page names them.

// "A(57, 0)", or "x[57]" of a vector: the element of the matrix, 0 for A to 2 for C, that is
// `at` floats after its start in memory.
std::string element_text(const Case& c, int matrix, std::int64_t at);

// Why there is no such element, to follow its name: ", row 57; A has rows 0 to 56".
std::string bounds_text(const Case& c, int matrix, std::int64_t at);

// Accesses outside of a matrix: the thread that makes them, and the element that it means.

bool reaches_outside(const Case& c);

// The complaint about the first of them; nothing if there is none. Runs the kernel again and
// records the block that makes it. The counts must have their lines.
std::optional<Complaint> complaint_about_outside(const Case& c);

// Which line of a kernel has most to do with a target that it misses.

// The phase and the place of a complaint about that target: the line that exceeds the target's
// limit most; if none does, the one whose warps have idle lanes; else the one with the most
// accesses. The counts must have their lines.
Complaint complaint_about_cost(const Case& c, const Target& target);

// For hints: the line with the most accesses of that kind to that array, and their number.
std::string most_accesses(const Case& c, const std::string& array, model::Direction direction);

// Compares the formulas that a student hands in with the counts.

// `counter`: in words, where the true count comes from: "the trace".
std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases,
    const std::string& counter);

std::string shape_text(const Shape& shape);  // "M 27, N 49, K 8"

// Whether something is wrong with a kernel that ran to its end.
bool fails(const Case& c);

// What is wrong; nothing if the kernel passes. The first of: an access outside of the matrices, a
// hazard, a wrong result, locals that would not fit into registers, a missed target. Nothing, too,
// if it is not more serious than the complaint `before`. Call this once, because it gives the
// counts their lines.
std::optional<Complaint> complaint_about(
    Case& c, const std::optional<Complaint>& before = std::nullopt);

// The complaint about a kernel that did not finish.
Complaint complaint_about(const Shape& shape, const guard::Ended& ended);

}  // namespace grade
