// CUDA on a CPU, traced: all that a program of yours needs. README.md has an example.
//
//   machine::run       runs the launches of a function, at the speed of compiled code
//   trace::trace       runs them traced: counts of requests, sectors and wavefronts, and hazards
//   trace::kernel_lines, resolve_lines   which source line made which request
//   model::find_gpu    a GPU by its name: its limits, and what its requests cost
#pragma once

#include "model/gpus.h"
#include "model/refusal.h"
#include "model/warp_access.h"
#include "simulator/machine/grid.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"
