// The devices that compute a product together: GPUs, or GPUs played by the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cluster/schedule.h"
#include "cluster/timeline.h"

namespace cluster {

// A rectangle of a row-major matrix in the host's memory, whose rows are `pitch` floats apart.
struct HostBlock {
  float* first;
  std::int64_t pitch;
  int rows, columns;
};

// `floats` go from one device of a row or column of the grid to all others of it.
struct Broadcast {
  std::vector<int> devices;    // of that row or column, in its order
  std::vector<float*> places;  // where each has them, or gets them; null for another process's
  int owner;                   // its position in these
  bool along_row;
  std::int64_t floats;
};

// A moment in a lane's work.
using Mark = int;

// Each device has three lanes, whose work runs in the order in which it was asked for, while the
// calls return. A lane waits for another's work where it is told to. Every function may throw a
// Refusal, after which the devices are only good to be destroyed; work that others wait for is
// aborted then.
class Devices {
 public:
  explicit Devices(int devices) : loads_(devices) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  virtual ~Devices() = default;

  // Those of this process.
  virtual const std::vector<int>& here() const = 0;

  // Memory of that device until all are destroyed; uninitialized.
  float* allocate(int device, std::int64_t floats);
  virtual double free_bytes(int device) = 0;

  void copy_in(int device, Lane lane, float* to, HostBlock from);
  void copy_out(int device, Lane lane, HostBlock to, const float* from);
  void broadcast(const std::vector<Broadcast>& broadcasts);  // at the same time, in lane arrive
  // C = alpha * A * B + beta * C, all contiguous, in lane multiply.
  virtual void multiply(
      int device, Shape shape, float alpha, const float* A, const float* B, float beta,
      float* C) = 0;

  virtual void begin() = 0;                      // forgets all marks, after finish()
  virtual Mark mark(int device, Lane lane) = 0;  // after the work that the lane has now
  virtual void wait(int device, Lane lane, Mark mark) = 0;
  virtual void wait_here(int device, Mark mark) = 0;  // the caller waits
  virtual void finish() = 0;                          // waits for all work of this process
  // From the earlier mark of a device to the later, which has been reached. 0 if nothing is timed.
  virtual double ms_between(int device, Mark from, Mark to) = 0;

  // What device `device` of this process has copied, sent and received since the last reset, and
  // what it holds. A broadcast counts as a ring. What NCCL makes of it is not counted.
  const Load& load(int device) const { return loads_[device]; }
  void reset_counters();

 protected:
  virtual float* new_memory(int device, std::int64_t floats) = 0;
  virtual void start_copy(
      int device, Lane lane, float* to, std::int64_t to_pitch, const float* from,
      std::int64_t from_pitch, int rows, int columns, bool into_device) = 0;
  virtual void start_broadcasts(const std::vector<Broadcast>& broadcasts) = 0;

 private:
  std::vector<Load> loads_;
};

// What a row or column of the grid passes on in a broadcast: from each of these positions to the
// next.
std::vector<int> senders(const Broadcast& broadcast);

}  // namespace cluster
