// The GPU of a run: whether kernels run on one, and which GPU's limits apply.
#pragma once

#include <optional>

#include "lab/request.h"
#include "lab/run.h"
#include "model/gpus.h"
#include "model/stage.h"

namespace lab {

// Whether the kernels run on the GPU: yes if there is one, unless --device cpu is given.
bool choose_device(const Request& request);

// The GPU whose occupancy and limits the run uses.
model::Gpu choose_model(const Request& request, bool on_gpu);

// The number of blocks of `kernel` that an SM of the run's GPU holds. It uses the register count
// from the compiler if that GPU is present, else the recorded one; nothing if there is no record.
std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel);

}  // namespace lab
