// A product whose matrices stay in the host's memory and pass through the devices.
#pragma once

#include <functional>
#include <vector>

#include "cluster/devices.h"
#include "cluster/streams.h"
#include "cluster/summa.h"
#include "cluster/timeline.h"

namespace cluster {

class Streamed {
 public:
  // Allocates what the devices of this process need. Both must outlive it. Throws a Refusal if a
  // device has too little memory.
  Streamed(const Streams& streams, Devices& devices);

  // C = alpha * A * B + beta * C, in the host's memory; on GPUs, that must be pinned. Returns when
  // it is done. `progress` is told how many more steps are done.
  void multiply(
      const HostMatrices& matrices, float alpha, float beta,
      const std::function<void(int)>& progress = [](int) {});

  // As Summa's.
  void multiply_one_step();
  Shape shape_of_one_step() const;
  Timeline timeline() const;

 private:
  struct Place {
    float *B = nullptr, *panels_of_A[2] = {}, *blocks_of_C[2] = {};
    Mark start{};
    struct Marks {
      Mark asked, arrived, begun, multiplied, leaves, left;
    };
    std::vector<Marks> steps = {};
    std::vector<Mark> blocks_left = {};
  };

  void fetch(int device, int step, const HostMatrices& matrices);
  void multiply_step(int device, int step, float alpha, float beta);
  void leave(int device, int step, const HostMatrices& matrices);

  const Streams& s_;
  Devices& devices_;
  std::vector<Place> places_;
};

}  // namespace cluster
