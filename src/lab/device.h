// The GPU of a run: whether kernels run on one, and whose limits hold.
#pragma once

#include <optional>

#include "lab/request.h"
#include "lab/run.h"
#include "model/gpus.h"
#include "model/occupancy.h"
#include "model/stage.h"

namespace lab {

// Whether the kernels run on the GPU: where there is one, unless --device cpu says otherwise.
bool choose_device(const Request& request);

// The GPU that occupancy and limits are those of.
model::Gpu choose_model(const Request& request, bool on_gpu);

// How many blocks of `kernel` an SM of the run's GPU holds: by the registers that the compiler says
// where that GPU is here, else by those that are recorded; none where they are not.
std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel);

}  // namespace lab
