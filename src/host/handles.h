// What the program's handles of streams, events and graphs point to.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cuda/headers/driver_types.h"
#include "host/call.h"

namespace host {

using Work = std::function<void()>;

// The work of the streams that belong to one capture, in the order of the calls.
struct Capture {
  cudaStream_t origin;
  std::vector<Work> work;
  bool broken = false;  // by a call that a capture does not allow
};
using Capturing = std::shared_ptr<Capture>;

}  // namespace host

// The names are CUDA's. The default streams are no such objects, and cannot be captured.
struct CUstream_st {
  unsigned flags;
  int priority;
  host::Capturing capture = {};
};
struct CUevent_st {
  bool timed;
  bool recorded = false;
  host::Capturing capture = {};  // of the stream that recorded it last
};
struct CUgraph_st {
  std::vector<host::Work> work;
};
struct CUgraphExec_st {
  std::vector<host::Work> work;
};

namespace host {

// Objects that the program creates and destroys.
template <class T>
class Pool {
 public:
  T* make(T value) { return objects_.emplace(std::make_unique<T>(std::move(value))).first->get(); }
  bool holds(const T* object) const { return find(object) != objects_.end(); }
  bool destroy(const T* object) {
    const auto found = find(object);
    if (found == objects_.end()) return false;
    objects_.erase(found);
    return true;
  }
  void clear() { objects_.clear(); }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  using Objects = std::set<std::unique_ptr<T>>;
  auto find(const T* object) const {
    return std::find_if(
        objects_.begin(), objects_.end(), [&](const auto& held) { return held.get() == object; });
  }
  Objects objects_;
};

inline Pool<CUstream_st> streams;
inline Pool<CUevent_st> events;
inline Pool<CUgraph_st> graphs;
inline Pool<CUgraphExec_st> instances;

inline constexpr const char* kNoEvent = "the event was not created, or was destroyed before";
inline constexpr const char* kNoGraph = "the graph was not made, or was destroyed before";

bool is_default(cudaStream_t stream);
Capturing capture_of(cudaStream_t stream);  // null if the stream is not being captured

// A wait for work of that capture, which only the launch of its graph will do: an error that breaks
// the capture. Nothing is wrong if it is null.
cudaError_t waits(const Call& call, const Capturing& capture);

}  // namespace host
