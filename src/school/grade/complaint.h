// Turns what a kernel did into messages for the student.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "model/warp_access.h"
#include "school/grade/exercise.h"
#include "simulator/simulator.h"

namespace grade {

// Whether memory outside of the matrices was accessed.
bool reaches_outside(const Case& c);

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
