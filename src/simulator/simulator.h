// CUDA on a CPU, traced: all that a program of yours needs. README.md has an example.
//
//   machine::run       runs the launches of a function, at the speed of compiled code
//   trace::trace       runs them traced: counts of requests, sectors and wavefronts, and hazards
//   trace::audit       whether every access of a kernel is announced to the tracer
//   trace::kernel_lines, resolve_lines   which source line made which request
//   guard::run_guarded runs code that is not yours in a child process with limits
//   model::find_gpu    a GPU by its name: its limits, and what its requests cost
#pragma once

#include "model/gpus.h"
#include "model/refusal.h"
#include "model/warp_access.h"
#include "simulator/guard/guard.h"
#include "simulator/machine/device_heap.h"
#include "simulator/machine/grid.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/position.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"
