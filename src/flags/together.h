// Which flags go together.
#pragma once

#include <span>

#include "flags/flags.h"
#include "flags/table.h"

namespace flags {

// Throws a Refusal where `flags`, made of those `given`, cannot be meant together.
void refuse_conflicts(const Flags& flags, std::span<const Flag* const> given);

}  // namespace flags
