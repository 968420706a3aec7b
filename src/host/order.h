// Which work of the streams may run at the same time, and whether it uses the same memory. Here all
// work has finished when it was asked for; on a GPU only streams, events and waits order it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cuda/headers/driver_types.h"
#include "machine/grid.h"

namespace host {

// How much of each stream's work has ended, by the stream's number.
using Clock = std::vector<std::uint64_t>;

// The number of a new stream.
std::size_t new_timeline(bool blocking);

// The work that the stream was asked for so far.
Clock reached_by(cudaStream_t stream);
void let_wait(cudaStream_t stream, const Clock& until);
// The host waits for work: of everything, of a stream, or up to an event.
void host_waits();
void host_waits(cudaStream_t stream);
void host_waits(const Clock& until);

// The stream whose work runs now, and the place in the program that asked for it.
void set_running(cudaStream_t stream, const void* place);

// One kernel or copy. `before` has ended when it begins.
struct Operation {
  std::size_t timeline = 0;
  std::uint64_t number = 0;
  Clock before = {};
  const void* place = nullptr;
};
// The next one of the running stream.
Operation begin_operation();
// Whether it matters which memory it uses.
bool may_conflict(const Operation& operation);
// It has used this memory. It is a hazard if unordered work uses it, too. Until the host waits for
// the operation, host code must not use it either.
void end_operation(
    const Operation& operation, const std::string& name, std::vector<machine::Touched> touched);

// For cudaDeviceReset.
void forget_order();

}  // namespace host
