// Compares the formulas that a student hands in with what was counted.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "grade/exercise.h"

namespace grade {

// `counter`: who counted the truth, in words: "the trace".
std::optional<Complaint> complaint_about(
    std::span<const Question> questions, const Answers& answers, std::span<const Case> cases,
    const std::string& counter);

}  // namespace grade
