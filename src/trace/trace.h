// The tracer: what every warp of the traced blocks did to global and shared memory.
//
// The kernels are compiled with -fsanitize=thread and -fsanitize-coverage=trace-pc, which make the
// compiler call a function at every memory access and at every basic block. Those functions are
// ours (src/trace/hooks.cpp): they log, and a warp's 32 logs are folded into requests.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "machine/grid.h"
#include "model/counts.h"

namespace trace {

// Runs `host`, whose launches must be of kernels compiled with the hooks, and counts what the
// chosen blocks do. The counts do not depend on the number of OpenMP threads. Where a hazard is
// fatal there are none, only the hazards.
model::Counts trace(
    const machine::Machine& machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host);

}  // namespace trace
