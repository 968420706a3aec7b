// How busy a GPU was before, and its sensors, read through NVML while kernels run. NVML comes with
// the driver and is found at run time, so the program also runs where it is missing.
#pragma once

#include <functional>
#include <limits>
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

// How long the GPU has been working for this program without a long pause. A GPU that was idle
// begins with a low clock and a low temperature.

// Times are in ms, on one clock.
class Busy {
 public:
  static constexpr double kPauseMs = 1000;

  // The GPU worked from `begin` to `end`. Calls come in the order of time.
  void add(double begin, double end) {
    sum_ms_ = before(begin) + (end - begin);
    last_end_ = end;
  }

  // The sum of the work before `now`, since the last pause of more than kPauseMs.
  double before(double now) const { return now - last_end_ > kPauseMs ? 0 : sum_ms_; }

 private:
  double sum_ms_ = 0, last_end_ = -std::numeric_limits<double>::infinity();
};

}  // namespace gpu
