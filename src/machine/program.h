// A whole program that runs on the CPU: its own main makes launches, outside of run() and trace().
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "machine/grid.h"

namespace machine {

struct ProgramLaunch {
  const void* kernel;
  Extent grid, block;
  std::size_t shared_bytes;
  void (*thread)(void*);  // thread(context) runs one thread
  void* context;
  std::size_t context_bytes;  // of it that the threads read
};

// What becomes of such launches; null while no program runs.
class ProgramLaunches {
 public:
  virtual ~ProgramLaunches() = default;
  virtual void launch(const ProgramLaunch& launch) = 0;
  virtual const model::Gpu* gpu() const = 0;
  // The program is short of time: what only its results need is left out. Who leaves something out
  // notes it. Several threads may ask.
  virtual bool is_late() const = 0;
  virtual void note_lateness() = 0;
};
extern ProgramLaunches* program_launches;

// What simt::traced_kernel() replaces, and by what.
struct TracedKernel {
  const void* plain = nullptr;
  const void* traced = nullptr;
};
extern TracedKernel traced_kernel;

// The kernel that thread(context) calls first; null if it calls none of a rewritten file.
const void* kernel_called_by(void (*thread)(void*), void* context);

// The program's __device__, __managed__ and __constant__ variables, as its objects register them.
struct DeviceVariable {
  std::string name;
  const void* data;
  std::size_t bytes;
  simt::VariableKind kind;
};
const std::vector<DeviceVariable>& device_variables();

}  // namespace machine
