// Streams. The work of each runs at the program's call, because then all earlier work has finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "simulator/cuda/headers/driver_types.h"
#include "simulator/cuda/headers/launch_attributes.h"
#include "simulator/host/call.h"
#include "simulator/machine/grid.h"

namespace host {

// How much of each stream's work has ended, by the stream's number.
using Clock = std::vector<std::uint64_t>;

// The objects that the program's handles of streams and events point to.

}  // namespace host

// The names are CUDA's. The default streams are no such objects.
struct CUstream_st {
  unsigned flags;
  int priority;
  std::size_t timeline;  // its number (host/stream.h)
};
struct CUevent_st {
  bool timed;
  bool recorded = false;
  host::Clock clock = {};  // the work so far when it was recorded
};

namespace host {

// Objects that the program creates and destroys.
template <class T>
class Pool {
 public:
  T* make(T value = {}) { return &objects_.emplace_back(std::move(value)); }
  bool holds(const T* object) const {
    return std::ranges::any_of(objects_, [&](const T& held) { return &held == object; });
  }
  bool destroy(const T* object) {
    return objects_.remove_if([&](const T& held) { return &held == object; }) > 0;
  }
  void clear() { objects_.clear(); }
  std::size_t size() const { return objects_.size(); }

 private:
  std::list<T> objects_;  // never move
};

inline Pool<CUstream_st> streams;
inline Pool<CUevent_st> events;

inline constexpr const char* kNoEvent = "the event was not created, or was destroyed before";
bool is_default(cudaStream_t stream);

inline constexpr const char* kNoStream = "the stream was not created, or was destroyed before";

// Whether the stream exists. The default streams do.
bool is_stream(cudaStream_t stream);

// `work` of the stream, which exists.
void in_stream(cudaStream_t stream, const std::function<void()>& work);

// For cudaDeviceReset: all streams and events.
void destroy_streams();

// Which work of the streams may run at the same time, and whether it uses the same memory. Here all
// work finishes within its call; on a GPU only streams, events and waits order it.

// The number of a new stream.
std::size_t new_timeline(bool blocking);

// The stream's work so far.
Clock reached_by(cudaStream_t stream);
void let_wait(cudaStream_t stream, const Clock& until);
// The host waits for work: of everything, of a stream, or up to an event.
void host_waits();
void host_waits(cudaStream_t stream);
void host_waits(const Clock& until);

// The stream whose work runs now, and the place of its call in the program.
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
