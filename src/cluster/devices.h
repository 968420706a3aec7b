// The devices that compute a product together (GPUs, or GPUs played by the CPU), the processes that
// share the work, and the product on them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/schedule.h"
#include "model/stage.h"

namespace cluster {

// The processes that share the work: this one alone, or those that mpirun started, one per device.
class Processes {
 public:
  // Of this program's processes. Throws a Refusal if mpirun started them and the program was built
  // without MPI.
  static Processes& all();
  static bool can_be_several();  // whether it was built with MPI

  int rank() const { return rank_; }
  int size() const { return size_; }
  int rank_on_machine() const { return rank_on_machine_; }  // among those of the same machine
  bool is_first() const { return rank_ == 0; }

  // Every process must call these in the same order.
  void wait_for_all();
  void share(void* data, int bytes);  // the first process's, with all others
  double largest(double value);       // of every process's, for every process
  double smallest(double value) { return -largest(-value); }

  // Sends from this process to that one, which calls receive, in the order of the calls.
  void send(const float* data, std::int64_t floats, int to);
  void receive(float* data, std::int64_t floats, int from);

  // Ends all other processes. Does nothing if there are none.
  void abort(int exit_code);

 private:
  Processes();
  ~Processes();

  int rank_ = 0, size_ = 1, rank_on_machine_ = 0;
};

// Whether mpirun, or its counterpart in another MPI, started this process.
bool started_by_mpirun();

// A rectangle of a row-major matrix in the host's memory, whose rows are `pitch` floats apart.
struct HostBlock {
  float* first;
  std::int64_t pitch;
  int rows, columns;
};

// `floats` go from one device to another. Each place is null in the other's process.
struct Transfer {
  int from, to;
  const float* source;
  float* target;
  std::int64_t floats;
};

// A point in a lane's work.
using Mark = int;

// Each device has three lanes. A lane's work runs asynchronously, in the order of the calls. wait()
// makes a lane wait for another's work. Every function may throw a Refusal. Then the devices can
// only be destroyed, and work that others wait for is aborted.
class Devices {
 public:
  // So many, all of this process; or if there are several processes, each has that of its rank.
  explicit Devices(int devices, const Processes* processes = nullptr);
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  virtual ~Devices() = default;

  const std::vector<int>& here() const { return here_; }  // the devices of this process

  // Memory of that device, uninitialized. It lives until release(), or as long as the devices.
  float* allocate(int device, std::int64_t rows, std::int64_t columns);
  void release();  // all memory, after finish()
  virtual double free_bytes(int) { return kUnlimited; }

  // From the host in lane arrive, or to it in lane leave. The device's rows are contiguous.
  void copy(int device, Lane lane, float* memory, const HostBlock& host);
  void transfer(const std::vector<Transfer>& transfers);  // at the same time, in lane arrive
  // C = alpha * A * B + beta * C, all contiguous, in lane multiply.
  virtual void multiply(
      int device, ProblemSize size, float alpha, const float* A, const float* B, float beta,
      float* C) = 0;

  // Where work is done immediately, these do nothing.
  virtual void begin() {}                     // forgets all marks, after finish()
  virtual Mark mark(int, Lane) { return 0; }  // after the lane's work so far
  virtual void wait(int, Lane, Mark) {}
  virtual void wait_here(int, Mark) {}  // the caller waits
  virtual void finish() {}              // waits for all work of this process
  // The time from a device's earlier mark to its later one, which it has reached.
  virtual double ms_between(int, Mark, Mark) { return 0; }

  // The bytes that device `device` of this process has copied, sent and received since the last
  // reset, and those that it holds.
  const Load& load(int device) const { return loads_[device]; }
  void reset_counters();

 protected:
  virtual float* new_memory(int device, std::int64_t floats) = 0;
  virtual void start_copy(int device, Lane lane, float* memory, const HostBlock& host) = 0;
  virtual void start_transfers(const std::vector<Transfer>& transfers) = 0;
  virtual void free_memory() {}

 private:
  void count(int device, bool arrives, std::int64_t floats);

  std::vector<Load> loads_;
  std::vector<int> here_;
};

// The GPUs of this machine, connected by NCCL. Implemented in cluster/gpus.cu if nvcc built the
// program, otherwise in cluster/no_gpus.cpp. All functions but count_gpus() need a GPU.

int count_gpus();

// Why no panels can travel, and what to do; empty if there can. NCCL is found when the
// program is built (nccl.h) and when it runs (libnccl.so.2).
std::string why_no_nccl();

// One GPU for each device of the grid: all of this process, or with several processes the one of
// this process's rank on its machine. `gemm` multiplies on the current GPU. If panels travel, by a
// communicator of NCCL, which is aborted if an exception destroys the devices.
std::unique_ptr<Devices> gpus(
    DeviceGrid grid, Processes& processes, std::function<model::Kernel> gemm, bool panels_travel);

// While the result lives, copies can reach that memory of the host while a GPU multiplies.
std::shared_ptr<void> pinned(void* memory, std::size_t bytes);

// cublasXtSgemm on the first `gpus` GPUs, in blocks of 4096: row-major matrices in the host's
// memory.
std::function<model::Kernel> cublas_xt(int gpus);

// GPUs played by the CPU: the same schedule, result and counts, without times.
//
// Work is done immediately, so lanes never wait. A panel travels by a copy within this process, and
// by a message to another. With several processes, each plays the device of its rank.
class Played : public Devices {
 public:
  Played(int devices, Processes& processes, std::function<model::Kernel> gemm);

  void multiply(
      int device, ProblemSize size, float alpha, const float* A, const float* B, float beta,
      float* C) override;

 protected:
  float* new_memory(int device, std::int64_t floats) override;
  void start_copy(int device, Lane lane, float* memory, const HostBlock& host) override;
  void start_transfers(const std::vector<Transfer>& transfers) override;
  void free_memory() override { memories_.clear(); }

 private:
  Processes& processes_;
  const std::function<model::Kernel> gemm_;
  std::vector<std::unique_ptr<float, void (*)(void*)>> memories_;
};

// The matrices of a product in the host's memory, row-major.
struct HostMatrices {
  float *A, *B, *C;
};

// A product that devices compute by a schedule. All of these must outlive it.
class Product {
 public:
  // Allocates what the devices of this process need. Throws a Refusal if one has too little memory.
  Product(const Schedule& schedule, Devices& devices, HostMatrices matrices);

  // The parts that stay on the devices of this process, and C's parts back.
  void load();
  void store();

  // C = alpha * A * B + beta * C, on the devices or in the host's memory, which must be pinned for
  // GPUs. Returns when it is done.
  void multiply(float alpha, float beta);

  // Repeats the first multiplication of this process's first device, alone. Returns its size.
  ProblemSize multiply_one_step();

  // When the last multiplication's parts began and ended. On GPUs, the times are each device's own
  // since its start, and the devices start within some microseconds of each other.
  Timeline timeline() const;

 private:
  // Where a step finds its panels and its block of C, contiguous and row-major; when it began to
  // get them, had them, was multiplied, and left. What did not happen has two equal marks.
  struct Places {
    float *A, *B, *C;
    Mark requested = 0, arrived = 0, begun = 0, multiplied = 0, leaves = 0, left = 0;
  };

  // Whether that device of this process has such a step, and whether something arrives for it.
  bool has(int device, int step) const { return step < static_cast<int>(places_[device].size()); }
  bool arrives(int device, int step) const {
    return has(device, step) && s_.steps[device][step].arrives();
  }
  // Between the host and the step's place for A, B or C.
  void copy(int device, int step, Lane lane, float* Places::*what);
  void fetch(int step);  // to all devices, when the step's places are free
  std::vector<Transfer> transfers_of(int step) const;
  void multiply_step(int device, int step, float alpha, float beta);

  const Schedule& s_;
  Devices& devices_;
  const HostMatrices matrices_;
  std::vector<std::vector<Places>> places_;  // of each device's steps; empty: of another process
  std::vector<Mark> starts_;
};

// When the product's parts begin and end by the model: as if on GPUs that take this long.
Timeline predict(const Schedule& schedule, const Link& link, const Rate& rate);

}  // namespace cluster
