// From what a kernel did to a verdict, and to what a student is told.
#pragma once

#include <optional>
#include <span>

#include "grade/exercise.h"
#include "guard/guard.h"

namespace grade {

// What is wrong with a kernel that ran to its end in every case; nothing where it passes. Reports
// the first of: an access outside of the matrices, a hazard, a wrong result, locals that would not
// fit into registers, a missed target.
std::optional<Complaint> complaint_about(std::span<Case> cases);

// Of a kernel that did not come to its end in `c`.
Complaint complaint_about(const Case& c, const guard::Ended& ended);

// Of the formulas that were handed in.
std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases);

}  // namespace grade
