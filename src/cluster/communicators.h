// The GPUs of the grid as a communicator of NCCL.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "cluster/devices.h"

namespace cluster {

class Communicator {
 public:
  // Of all devices. Those `here` join, which have the GPUs with these numbers in this machine.
  // Throws a Refusal if there is no NCCL.
  Communicator(
      Processes& processes, const std::vector<int>& here, const std::vector<int>& ordinals);
  // If an exception destroys it, its work in progress is aborted.
  ~Communicator();

  // In the streams of the devices, all at the same time.
  void transfer(const std::vector<Transfer>& transfers, const std::vector<cudaStream_t>& streams);

  // Throws a Refusal if a transfer has failed, here or elsewhere.
  void check_errors() const;

 private:
  struct Joined;
  std::unique_ptr<Joined> joined_;
};

}  // namespace cluster
