// From what a kernel did to what a student is told.
#pragma once

#include <optional>
#include <string>

#include "grade/exercise.h"
#include "guard/guard.h"

namespace grade {

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
