#include "simulator/host/stream.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"
#include "simulator/host/memory.h"
#include "simulator/machine/memory.h"

namespace host {
namespace {

cudaError_t create_stream(const Call& call, cudaStream_t* stream, unsigned flags, int priority) {
  if (flags > cudaStreamNonBlocking) {
    return call.fails(cudaErrorInvalidValue, "there are no such flags of a stream");
  }
  return call.makes(stream, [=] {
    return streams.make({flags, std::clamp(priority, -5, 0), new_timeline(flags == 0)});
  });
}

// A call for a stream, or an event, that exists.
template <class Work>
cudaError_t with(const Call& call, cudaStream_t stream, Work work) {
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  work();
  return cudaSuccess;
}
template <class Work>
cudaError_t with(const Call& call, cudaEvent_t event, Work work) {
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  work();
  return cudaSuccess;
}

}  // namespace

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

bool is_stream(cudaStream_t stream) {
  return is_default(stream) || streams.holds(stream);
}

void in_stream(cudaStream_t stream, const std::function<void()>& work) {
  set_running(stream, nullptr);
  work();
  set_running(nullptr, nullptr);
}

void destroy_streams() {
  streams.clear();
  events.clear();
  forget_order();
}

}  // namespace host

using namespace host;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return create_stream(Call(), stream, cudaStreamDefault, 0);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream(Call(), stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream(Call(), stream, flags, priority);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  const Call call;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return call.gives(flags, is_default(stream) ? cudaStreamDefault : stream->flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return call.gives(priority, is_default(stream) ? 0 : stream->priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call;
  if (streams.destroy(stream)) return cudaSuccess;
  return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with(Call(), stream, [=] { host_waits(stream); });
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with(Call(), stream, [=] { host_waits(stream); });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return with(call, event, [=] { let_wait(stream, event->clock); });
}

cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (callback == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  host_waits(stream);  // the function may use what the stream has made
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (function == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  in_stream(stream, [=] {
    host_waits();
    function(data);
  });
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, std::size_t, unsigned) {
  return with(Call(), stream, [] {});
}

void simt::begin_in(cudaStream_t stream) {
  const machine::HostLock lock;
  set_running(is_stream(stream) ? stream : nullptr, __builtin_return_address(0));
}

namespace host {
namespace {

// Events. All work from before an event has finished when it is recorded.

cudaError_t create_event(const Call& call, cudaEvent_t* event, unsigned flags) {
  return call.makes(event, [=] { return events.make({(flags & cudaEventDisableTiming) == 0}); });
}

cudaError_t record(const Call& call, cudaEvent_t event, cudaStream_t stream) {
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return with(call, event, [=] {
    event->recorded = true;
    event->clock = reached_by(stream);
  });
}

}  // namespace
}  // namespace host

using namespace host;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return create_event(Call(), event, cudaEventDefault);
}

cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
  return create_event(Call(), event, flags);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return create_event(Call(), event, flags);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(Call(), event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return with(Call(), event, [=] { host_waits(event->clock); });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return with(Call(), event, [=] { host_waits(event->clock); });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const Call call;
  for (const cudaEvent_t event : {start, end}) {
    if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
    if (!event->timed) {
      return call.fails(
          cudaErrorInvalidResourceHandle, "an event was created with cudaEventDisableTiming");
    }
    if (!event->recorded) {
      return call.fails(cudaErrorInvalidResourceHandle, "an event was not recorded");
    }
  }
  note("Times are not measured on a CPU: every time between two events is 0 ms.");
  return call.gives(ms, 0);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return with(Call(), event, [=] { events.destroy(event); });
}

namespace host {
namespace {

constexpr std::size_t kLegacy = 0, kPerThread = 1;

struct Timeline {
  bool blocking;  // it and the legacy default stream wait for each other
  Clock clock = {};
};
std::vector<Timeline> timelines = {{true}, {true}};
Clock host_clock;

struct Running {
  cudaStream_t stream = nullptr;
  const void* place = nullptr;
};
// Of each thread of the host, from its launch statement to the start of the kernel.
thread_local Running running;

struct Past {
  Operation operation;
  std::string name;
  std::vector<machine::Touched> touched;  // sorted
};
std::deque<Past> pasts;

std::size_t number_of(cudaStream_t stream) {
  if (stream == cudaStreamPerThread) return kPerThread;
  return is_default(stream) ? kLegacy : stream->timeline;
}

void join(Clock& into, const Clock& more) {
  if (into.size() < more.size()) into.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) into[i] = std::max(into[i], more[i]);
}

bool has_ended(const Past& past, const Clock& clock) {
  const std::size_t timeline = past.operation.timeline;
  return timeline < clock.size() && past.operation.number <= clock[timeline];
}

Clock reached(std::size_t timeline) {
  Clock clock = timelines[timeline].clock;
  if (timeline == kLegacy) {
    for (const Timeline& other : timelines) {
      if (other.blocking) join(clock, other.clock);
    }
  } else if (timelines[timeline].blocking) {
    join(clock, timelines[kLegacy].clock);
  }
  return clock;
}

// Host code must not access memory that unfinished work uses, if it can access it at all.
void close_what_is_used() {
  std::vector<machine::InUse> in_use;
  for (const Past& past : pasts) {
    for (const machine::Touched& touched : past.touched) {
      if (touched.atomic) continue;  // the host may take part
      const auto* const at = reinterpret_cast<const void*>(touched.begin);
      if (machine::is_shared_with_host(at)) in_use.push_back({touched, past.name});
    }
  }
  machine::close_to_host(std::move(in_use));
}

bool conflict(const machine::Touched& a, const machine::Touched& b) {
  return a.begin < b.end && b.begin < a.end && (a.stores || b.stores) && !(a.atomic && b.atomic);
}

// The first bytes that both use, if one of them must not.
const machine::Touched* conflict(const Past& past, const Past& now) {
  std::size_t from = 0;
  std::uintptr_t longest = 0;  // of the past's ranges
  for (const machine::Touched& range : past.touched) {
    longest = std::max(longest, range.end - range.begin);
  }
  for (const machine::Touched& mine : now.touched) {
    while (from < past.touched.size() && past.touched[from].begin + longest <= mine.begin) ++from;
    for (std::size_t i = from; i < past.touched.size() && past.touched[i].begin < mine.end; ++i) {
      if (conflict(past.touched[i], mine)) return &mine;
    }
  }
  return nullptr;
}

void report(const Past& past, const Past& now, const machine::Touched& where) {
  const std::string array = place_of(reinterpret_cast<const void*>(where.begin)).name;
  note(
      "race on " + (array.empty() ? "memory of the GPU" : array) + ": " + now.name +
          " may use it at the same time as " + (past.name == now.name ? "another " : "") +
          past.name +
          " in another stream, and one of the two stores to it; let one stream wait for the other: "
          "cudaEventRecord and cudaStreamWaitEvent, or cudaStreamSynchronize",
      now.operation.place, true, past.operation.place);
}

}  // namespace

std::size_t new_timeline(bool blocking) {
  timelines.push_back({blocking});
  return timelines.size() - 1;
}

Clock reached_by(cudaStream_t stream) {
  return reached(number_of(stream));
}

void let_wait(cudaStream_t stream, const Clock& until) {
  join(timelines[number_of(stream)].clock, until);
}

void host_waits(const Clock& until) {
  join(host_clock, until);
  const std::size_t before = pasts.size();
  std::erase_if(pasts, [](const Past& past) { return has_ended(past, host_clock); });
  if (pasts.size() != before) close_what_is_used();
}
void host_waits(cudaStream_t stream) {
  host_waits(reached_by(stream));
}
void host_waits() {
  Clock all;
  for (const Timeline& timeline : timelines) join(all, timeline.clock);
  host_waits(all);
}

void set_running(cudaStream_t stream, const void* place) {
  running = {stream, place};
}

Operation begin_operation() {
  const auto [stream, place] = std::exchange(running, {});
  Operation operation{number_of(stream), 0, reached_by(stream), place};
  join(operation.before, host_clock);
  Clock& clock = timelines[operation.timeline].clock;
  clock = operation.before;
  if (clock.size() <= operation.timeline) clock.resize(operation.timeline + 1);
  operation.number = ++clock[operation.timeline];
  return operation;
}

bool may_conflict(const Operation& operation) {
  const bool alone = operation.timeline == kLegacy &&
                     std::all_of(timelines.begin(), timelines.end(), [](const Timeline& other) {
                       return other.blocking;
                     });
  return !alone || machine::any_shared_with_host();
}

void end_operation(
    const Operation& operation, const std::string& name, std::vector<machine::Touched> touched) {
  constexpr std::size_t kMost = 1000;
  if (touched.empty() || !may_conflict(operation)) return;
  std::sort(touched.begin(), touched.end(), [](const auto& a, const auto& b) {
    return a.begin < b.begin;
  });
  Past now{operation, name, std::move(touched)};
  for (const Past& past : pasts) {
    if (has_ended(past, operation.before)) continue;
    if (const machine::Touched* where = conflict(past, now)) report(past, now, *where);
  }
  if (pasts.size() == kMost) pasts.pop_front();
  pasts.push_back(std::move(now));
  close_what_is_used();
}

void forget_order() {
  pasts.clear();
  close_what_is_used();
  timelines.resize(kPerThread + 1);
  for (Timeline& timeline : timelines) timeline.clock.clear();
  host_clock.clear();
}

}  // namespace host

using namespace host;

cudaError_t simt::check_attributes(const cudaLaunchConfig_t* config) {
  const Call call("cudaLaunchKernelEx");
  if (config == nullptr) return call.fails(cudaErrorInvalidValue, "there is no configuration");
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    const auto& cluster = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeClusterDimension &&
        std::max({cluster.x, cluster.y, cluster.z}) > 1) {
      return call.fails(
          cudaErrorNotSupported, "clusters of blocks do not run on a CPU here; launch without one");
    }
  }
  return cudaSuccess;
}
