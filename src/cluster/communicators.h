// The rows and columns of the grid as communicators of NCCL.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "cluster/devices.h"
#include "cluster/schedule.h"

namespace cluster {

class Communicators {
 public:
  // The devices `here` join, which have the GPUs with these numbers in this machine. Throws a
  // Refusal if there is no NCCL.
  Communicators(
      Grid grid, Processes& processes, const std::vector<int>& here,
      const std::vector<int>& ordinals);
  // If an exception destroys them, their work in progress is aborted.
  ~Communicators();

  // In the streams of the devices, all at the same time.
  void broadcast(
      const std::vector<Broadcast>& broadcasts, const std::vector<cudaStream_t>& streams);

  // Throws a Refusal if a broadcast has failed, here or elsewhere.
  void check_errors() const;

 private:
  struct Joined;
  std::unique_ptr<Joined> joined_;
};

}  // namespace cluster
