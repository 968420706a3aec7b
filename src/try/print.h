// A run of a user's file, in the format that the flags ask for.
#pragma once

#include <cstdio>
#include <string>

#include "flags/flags.h"
#include "lab/run.h"
#include "text/numbers.h"

namespace attempt {

// `note` follows what is for readers. With --ncu, prints ncu's counts beside the traced ones
// instead, and returns whether the two agree. Throws a Refusal if they cannot be compared.
bool print(
    std::FILE* out, const flags::Flags& flags, const lab::Run& run, const std::string& note,
    text::Style style);

}  // namespace attempt
