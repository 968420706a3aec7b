// --page: writes stages of the ladder as one interactive page.
#pragma once

#include "flags/flags.h"
#include "model/stage.h"

namespace page {

// The stages that --stage names, or all, on one problem: 128 x 128 x 128, or 32 x 32 x 32 on the
// paper GPU, unless --size, --m, --n or --k change it. `traced` is a table whose kernels have the
// tracer's hooks. Returns the exit code: 0. Throws a Refusal if no stage has a kernel or the file
// cannot be written.
int write_page(const flags::Flags& flags, const model::StageTable& traced);

}  // namespace page
