// GPUs played by the CPU: the same schedule, the right result and the counts, without times.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "cluster/devices.h"
#include "cluster/processes.h"
#include "model/stage.h"

namespace cluster {

// Work is done when it is asked for, so that lanes never wait. A broadcast goes from device to
// device: by a copy within this process, and by a message to another. With several processes, each
// plays the device of its rank.
class Played : public Devices {
 public:
  Played(
      int devices, Processes& processes, std::function<model::Kernel> gemm,
      double memory = std::numeric_limits<double>::infinity());  // bytes of each device

  const std::vector<int>& here() const override { return here_; }
  double free_bytes(int device) override;
  void multiply(
      int device, Shape shape, float alpha, const float* A, const float* B, float beta,
      float* C) override;
  void begin() override {}
  Mark mark(int, Lane) override { return 0; }
  void wait(int, Lane, Mark) override {}
  void wait_here(int, Mark) override {}
  void finish() override {}
  double ms_between(int, Mark, Mark) override { return 0; }

 protected:
  float* new_memory(int device, std::int64_t floats) override;
  void start_copy(
      int device, Lane lane, float* to, std::int64_t to_pitch, const float* from,
      std::int64_t from_pitch, int rows, int columns, bool into_device) override;
  void start_broadcasts(const std::vector<Broadcast>& broadcasts) override;

 private:
  Processes& processes_;
  const std::function<model::Kernel> gemm_;
  const double memory_;
  std::vector<int> here_;
  std::vector<std::unique_ptr<float, void (*)(void*)>> memories_;
};

}  // namespace cluster
