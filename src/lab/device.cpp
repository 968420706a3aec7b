#include "lab/device.h"

#include <string>

#include "gpu/gpu.h"
#include "model/compiled_kernel.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace lab {

bool choose_device(const Request& request) {
  const model::Gpu* const named = model::find_gpu(request.gpu);
  if (named != nullptr && !model::has_clock(*named)) {
    if (request.device != Device::gpu) return false;
    throw model::Refusal(
        "--device gpu: the " + named->name + " is only traced, on the CPU; leave out --device gpu");
  }
  const gpu::Search& search = gpu::find();
  if (request.device == Device::cpu || search.found) return request.device != Device::cpu;
  if (request.device == Device::gpu) {
    throw model::Refusal(
        "--device gpu: there is no GPU to run on (" + search.why_not +
        "); leave it out to trace the kernels on the CPU");
  }
  return false;
}

model::Gpu choose_model(const Request& request, bool on_gpu) {
  if (!request.gpu.empty()) {
    if (const model::Gpu* known = model::find_gpu(request.gpu)) return *known;
    std::string names;
    for (const model::Gpu& known : model::known_gpus())
      names += (names.empty() ? "" : ", ") + known.name;
    throw model::Refusal(
        "--gpu " + text::echoed(request.gpu) + ": not in the table; choose one of " + names);
  }
  return on_gpu ? *gpu::find().found : *model::find_gpu("RTX 3090");
}

std::optional<model::Occupancy> occupancy_of(
    const Request& request, const Run& run, const model::Variant& variant,
    const model::KernelRef& kernel) {
  const bool is_the_gpu_present = run.gpu_present && request.gpu.empty();
  model::KernelResources needs{variant.threads(), 0, variant.shared_bytes};
  if (is_the_gpu_present) {
    const gpu::Resources compiled = gpu::resources(kernel.function);
    needs.registers_per_thread = compiled.registers_per_thread;
    needs.smem_bytes_per_block += compiled.static_smem_bytes;
  } else {
    const auto record = model::find_compiled_kernel(kernel.name, run.gpu.compute_capability);
    if (!record) return std::nullopt;
    needs.registers_per_thread = record->registers;
    needs.smem_bytes_per_block += record->static_smem_bytes;
  }
  return model::occupancy(run.gpu, needs);
}

}  // namespace lab
