// Says why a user's sgemm is wrong.
#pragma once

#include <string>

#include "flags/flags.h"
#include "lab/problem.h"
#include "model/error.h"
#include "model/gpus.h"

namespace attempt {

// One sentence about the result of sgemm for `p`, which was loaded as `flags` ask. An sgemm that
// reads C although beta is 0 is common: then it runs once more on the CPU, with a beta that is not.
std::string why_wrong(
    const flags::Flags& flags, const model::Gpu& gpu, const lab::Problem& p,
    const model::Error& error);

}  // namespace attempt
