// The tracer: records the accesses of every warp of the traced blocks to global and shared memory.
//
// The kernels are compiled with -fsanitize=thread and -fsanitize-coverage=trace-pc, so the compiler
// calls a function at every memory access and every basic block. We define these functions
// (src/simulator/trace/hooks.cpp): they log. The logs of a warp's 32 lanes are then folded into
// requests.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "model/warp_access.h"
#include "simulator/machine/grid.h"

namespace trace {

// Runs `host`, which may launch only kernels compiled with the hooks, and counts what the chosen
// blocks do. The counts do not depend on the number of OpenMP threads. After a fatal hazard there
// are no counts, only the hazards.
model::Counts trace(
    const machine::Machine& machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host);

}  // namespace trace
