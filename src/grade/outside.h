// Accesses beside a matrix: whose they are, and which element they take for one.
#pragma once

#include <optional>

#include "grade/exercise.h"

namespace grade {

bool reaches_outside(const Case& c);

// What there is to say of the first of them; nothing where there is none. Runs the kernel once
// more, with the block recorded that does it. The counts must have their lines.
std::optional<Complaint> complaint_about_outside(const Case& c);

}  // namespace grade
