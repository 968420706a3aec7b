#include "host/stream.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"

namespace host {
namespace {

using Work = std::function<void()>;

// The work of the streams that belong to one capture, in the order of the calls.
struct Capture {
  cudaStream_t origin;
  std::vector<Work> work;
  bool broken = false;  // by a call that a capture does not allow
};
using Capturing = std::shared_ptr<Capture>;

constexpr const char* kNoEvent = "the event was not created, or was destroyed before";
constexpr const char* kNoGraph = "the graph was not made, or was destroyed before";
constexpr const char* kWaits =
    "it waits for a stream that is being captured; end the capture and launch the graph first";

}  // namespace
}  // namespace host

// The types that CUDA names. The default streams cannot be captured.
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
namespace {

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

Pool<CUstream_st> streams;
Pool<CUevent_st> events;
Pool<CUgraph_st> graphs;
Pool<CUgraphExec_st> instances;

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

Capturing capture_of(cudaStream_t stream) {
  return is_default(stream) ? nullptr : stream->capture;
}

cudaError_t create_stream(const Call& call, cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  if (flags > cudaStreamNonBlocking) {
    return call.fails(cudaErrorInvalidValue, "there are no such flags of a stream");
  }
  *stream = streams.make({flags, std::clamp(priority, -5, 0)});
  return cudaSuccess;
}

cudaError_t create_event(const Call& call, cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  *event = events.make({(flags & cudaEventDisableTiming) == 0});
  return cudaSuccess;
}

cudaError_t record(const Call& call, cudaEvent_t event, cudaStream_t stream) {
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  event->recorded = true;
  event->capture = capture_of(stream);
  return cudaSuccess;
}

// A wait for work that only the launch of a graph will do.
cudaError_t waits(const Call& call, const Capturing& capture) {
  if (capture == nullptr) return cudaSuccess;
  capture->broken = true;
  return call.fails(cudaErrorStreamCaptureUnsupported, kWaits);
}

cudaError_t instantiate(const Call& call, cudaGraphExec_t* instance, cudaGraph_t graph) {
  if (instance == nullptr || !graphs.holds(graph)) {
    return call.fails(cudaErrorInvalidValue, kNoGraph);
  }
  *instance = instances.make({graph->work});
  return cudaSuccess;
}

}  // namespace

bool is_stream(cudaStream_t stream) {
  return is_default(stream) || streams.holds(stream);
}

void in_stream(cudaStream_t stream, const Work& work) {
  const Capturing capture = capture_of(stream);
  capture == nullptr ? work() : capture->work.push_back(work);
}

void destroy_streams() {
  streams.clear();
  events.clear();
  graphs.clear();
  instances.clear();
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
  *flags = is_default(stream) ? cudaStreamDefault : stream->flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  *priority = is_default(stream) ? 0 : stream->priority;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Call call;
  if (streams.destroy(stream)) return cudaSuccess;
  return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return waits(call, capture_of(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  return waits(call, capture_of(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  // The stream joins the capture of the one that recorded the event.
  if (event->capture != nullptr && !is_default(stream) && stream->capture == nullptr) {
    stream->capture = event->capture;
  }
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (callback == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  if (const cudaError_t error = waits(call, capture_of(stream)); error != cudaSuccess) return error;
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (function == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  in_stream(stream, [=] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, std::size_t, unsigned) {
  const Call call;
  if (is_stream(stream)) return cudaSuccess;
  return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
}

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

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(Call(), event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call;
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  return waits(call, event->capture);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call;
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  return waits(call, event->capture);
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const Call call;
  if (ms == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
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
  *ms = 0;
  note("Times are not measured on a CPU: every time between two events is 0 ms.");
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Call call;
  if (events.destroy(event)) return cudaSuccess;
  return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (is_default(stream)) {
    return call.fails(
        cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured; create one");
  }
  if (stream->capture != nullptr) {
    return call.fails(cudaErrorIllegalState, "the stream is being captured already");
  }
  stream->capture = std::make_shared<Capture>(Capture{stream, {}});
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  const Capturing capture = capture_of(stream);
  if (graph == nullptr || capture == nullptr) {
    return call.fails(cudaErrorIllegalState, "the stream is not being captured");
  }
  if (capture->origin != stream) {
    return call.fails(
        cudaErrorStreamCaptureUnmatched, "the capture began in another stream; end it there");
  }
  for (const auto& other : streams) {
    if (other->capture == capture) other->capture = nullptr;
  }
  for (const auto& event : events) {
    if (event->capture == capture) event->capture = nullptr;
  }
  *graph = nullptr;
  if (capture->broken) {
    return call.fails(
        cudaErrorStreamCaptureInvalidated, "a call during the capture was not allowed");
  }
  *graph = graphs.make({capture->work});
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  const Capturing capture = capture_of(stream);
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->broken  ? cudaStreamCaptureStatusInvalidated
                               : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
  return instantiate(Call(), instance, graph);
}

cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t* instance, cudaGraph_t graph, cudaGraphNode_t*, char*, std::size_t) {
  return instantiate(Call(), instance, graph);
}

cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long) {
  return instantiate(Call(), instance, graph);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (!instances.holds(instance)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  for (const Work& work : instance->work) in_stream(stream, work);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (!instances.holds(instance)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const Call call;
  if (!graphs.holds(graph) || count == nullptr) return call.fails(cudaErrorInvalidValue, kNoGraph);
  if (nodes != nullptr) {
    return call.fails(cudaErrorNotSupported, "the nodes of a graph are only counted here");
  }
  *count = graph->work.size();
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  const Call call;
  if (instances.destroy(instance)) return cudaSuccess;
  return call.fails(cudaErrorInvalidValue, kNoGraph);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const Call call;
  if (graphs.destroy(graph)) return cudaSuccess;
  return call.fails(cudaErrorInvalidValue, kNoGraph);
}

bool simt::is_captured(cudaStream_t stream) {
  return is_stream(stream) && capture_of(stream) != nullptr;
}

void simt::keep(cudaStream_t stream, void (*run)(void*), void* work, void (*drop)(void*)) {
  const std::shared_ptr<void> owned(work, drop);
  in_stream(stream, [=] { run(owned.get()); });
}
