// Which flags can be combined.
#pragma once

#include <span>

#include "flags/flags.h"
#include "flags/table.h"

namespace flags {

// Throws a Refusal if `flags`, set by the flags in `given`, cannot be combined.
void refuse_conflicts(const Flags& flags, std::span<const Flag* const> given);

}  // namespace flags
