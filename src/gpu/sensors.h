// The sensors of a GPU, read through NVML while kernels run. NVML comes with the driver and is
// found at run time, so the program also runs where it is missing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/gpus.h"

namespace gpu {

class Sensors {
 public:
  // `pci_bus_id` is CUDA's, "0000:1b:00.0": NVML numbers GPUs differently than CUDA.
  explicit Sensors(const std::string& pci_bus_id, const std::string& library = "libnvidia-ml.so.1");
  ~Sensors();
  Sensors(const Sensors&) = delete;
  Sensors& operator=(const Sensors&) = delete;

  // Runs `work` and reads the sensors every few milliseconds from another thread, and once more at
  // the end, so that short work has a reading, too. Nothing where NVML or the GPU in it is missing.
  std::optional<model::DeviceState> read_during(const std::function<void()>& work) const;

 private:
  struct Nvml;
  std::unique_ptr<Nvml> nvml_;  // null: missing
};

}  // namespace gpu
