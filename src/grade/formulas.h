// Compares the formulas that a student hands in with the trace.
#pragma once

#include <optional>
#include <span>

#include "grade/exercise.h"

namespace grade {

std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases);

}  // namespace grade
