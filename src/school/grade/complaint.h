// From what a kernel did to what a student is told.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "model/counts.h"
#include "school/grade/exercise.h"
#include "simulator/guard/guard.h"
#include "text/numbers.h"

namespace grade {

// Threads and blocks by their coordinates, as CUDA code names them.

inline std::string pair_text(std::int64_t number, std::int64_t across) {
  return text::printed(
      "(%lld, %lld)", static_cast<long long>(number % across),
      static_cast<long long>(number / across));
}

// "(3, 0)", of a thread's number in its block.
inline std::string thread_name(const Case& c, std::int64_t thread) {
  return pair_text(thread, c.row.launch->block.x);
}

// "(1, 4)", of a block's number in the launch.
inline std::string block_name(const Case& c, std::int64_t block) {
  return pair_text(block, c.row.launch->grid.x);
}

// The elements of an exercise's matrices, named as its page names them.

// "A(57, 0)", or "x[57]" of a vector: the element of the matrix, 0 for A to 2 for C, that is
// `at` floats after its start in memory.
std::string element_text(const Case& c, int matrix, std::int64_t at);

// Why there is none, to stand behind it: ", row 57; A has rows 0 to 56".
std::string bounds_text(const Case& c, int matrix, std::int64_t at);

// Accesses beside a matrix: whose they are, and which element they take for one.

bool reaches_outside(const Case& c);

// What there is to say of the first of them; nothing where there is none. Runs the kernel once
// more, with the block recorded that does it. The counts must have their lines.
std::optional<Complaint> complaint_about_outside(const Case& c);

// Which line of a kernel has most to do with a target that it misses.

// The phase and the place of a complaint about that target: the line with the greatest excess over
// what the target allows it; where none exceeds that, the one whose warps have idle lanes; and
// where there is none either, the one with the most accesses. The counts must have their lines.
Complaint complaint_about_cost(const Case& c, const Target& target);

// For hints: the line with the most accesses of that kind to that array, and how many they are.
std::string most_accesses(const Case& c, const std::string& array, model::Direction direction);

// Compares the formulas that a student hands in with what was counted.

// `counter`: who counted the truth, in words: "the trace".
std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases,
    const std::string& counter);

std::string shape_text(const Shape& shape);  // "M 27, N 49, K 8"

// Whether something is wrong with a kernel that ran to its end.
bool fails(const Case& c);

// What it is; nothing where it passes. Says the first of: an access outside of the matrices, a
// hazard, a wrong result, locals that would not fit into registers, a missed target. To be asked
// once, because the counts then get their lines.
std::optional<Complaint> complaint_about(Case& c);

// Of a kernel that did not come to its end.
Complaint complaint_about(const Shape& shape, const guard::Ended& ended);

}  // namespace grade
