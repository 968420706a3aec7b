// What there is to run.
#pragma once

#include <cstdio>
#include <span>

#include "model/stage.h"
#include "report/format.h"

namespace report {

// Every stage with its variants.
void print_list(std::FILE* out, std::span<const model::Stage> stages, Format format);

}  // namespace report
