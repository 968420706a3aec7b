// What there is to run.
#pragma once

#include <cstdio>
#include <span>

#include "model/gpus.h"
#include "model/stage.h"
#include "report/format.h"

namespace report {

// What variants are chosen for: C (M x N) on this GPU.
struct ChoiceFor {
  model::Gpu gpu;
  int M, N;
};

// Every stage with its variants: which of them can be chosen by size, and which one is.
void print_list(
    std::FILE* out, std::span<const model::Stage> stages, const ChoiceFor& choice, Format format);

}  // namespace report
