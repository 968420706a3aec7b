// A product by a schedule of panels: A, B and C stay on the devices.
#pragma once

#include <vector>

#include "cluster/devices.h"
#include "cluster/schedule.h"
#include "cluster/timeline.h"

namespace cluster {

// The matrices of a product in the host's memory, row-major.
struct HostMatrices {
  float *A, *B, *C;
};

class Summa {
 public:
  // Allocates the devices' parts, and two panels of each matrix that travels to them. Both must
  // outlive it. Throws a Refusal if a device has too little memory.
  Summa(const Schedule& schedule, Devices& devices);

  void load(const HostMatrices& matrices);         // the parts, to the devices of this process
  void store(const HostMatrices& matrices) const;  // C's parts, from them

  // C = alpha * A * B + beta * C. Returns before it is done: Devices::finish waits for that.
  void multiply(float alpha, float beta);

  // What every device multiplies in the step with the widest panel, once more on the first device
  // here alone.
  void multiply_one_step();
  Shape shape_of_one_step() const;

  // When the last multiplication's parts began and ended, after Devices::finish. Of GPUs: the time
  // is each device's own since it began, and the devices begin together within some microseconds.
  Timeline timeline() const;

 private:
  // What a device has, as contiguous row-major matrices: its part of A as panels, one after the
  // other, and two places for panels that arrive.
  struct Place {
    float *A = nullptr, *B = nullptr, *C = nullptr;
    float *panels_of_A[2] = {}, *panels_of_B[2] = {};
    Mark start{};
    struct Marks {
      Mark asked, arrived, begun, multiplied;
    };
    std::vector<Marks> steps = {};
  };

  float* panel_of_A(int device, int step) const;
  float* panel_of_B(int device, int step) const;
  void fetch(int step);
  int widest_step() const;

  const Schedule& s_;
  Devices& devices_;
  std::vector<Place> places_;  // of all devices; empty for those of other processes
};

}  // namespace cluster
