#include "host/stream.h"

#include <algorithm>
#include <memory>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/graph_memory.h"
#include "host/handles.h"

namespace host {
namespace {

cudaError_t create_stream(const Call& call, cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  if (flags > cudaStreamNonBlocking) {
    return call.fails(cudaErrorInvalidValue, "there are no such flags of a stream");
  }
  *stream = streams.make(
      {flags, std::clamp(priority, -5, 0), new_timeline((flags & cudaStreamNonBlocking) == 0)});
  return cudaSuccess;
}

}  // namespace

bool is_default(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

Capturing capture_of(cudaStream_t stream) {
  return is_default(stream) ? nullptr : stream->capture;
}

cudaError_t waits(const Call& call, const Capturing& capture) {
  if (capture == nullptr) return cudaSuccess;
  capture->broken = true;
  return call.fails(
      cudaErrorStreamCaptureUnsupported,
      "it waits for a stream that is being captured; end the capture and launch the graph first");
}

bool is_stream(cudaStream_t stream) {
  return is_default(stream) || streams.holds(stream);
}

void in_stream(cudaStream_t stream, const Work& work, cudaGraphNodeType type) {
  const Capturing capture = capture_of(stream);
  if (capture != nullptr) return capture->work.push_back({type, work});
  set_running(stream, nullptr);
  work();
  set_running(nullptr, nullptr);
}

void destroy_streams() {
  streams.clear();
  events.clear();
  graphs.clear();
  instances.clear();
  forget_graph_memory();
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
  host_waits(stream);
  return waits(call, capture_of(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  host_waits(stream);
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
  let_wait(stream, event->clock);
  return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (callback == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  if (const cudaError_t error = waits(call, capture_of(stream)); error != cudaSuccess) return error;
  host_waits(stream);  // the function may use what the stream has made
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (function == nullptr) return call.fails(cudaErrorInvalidValue, "there is no function");
  in_stream(
      stream,
      [=] {
        host_waits();
        function(data);
      },
      cudaGraphNodeTypeHost);
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void*, std::size_t, unsigned) {
  const Call call;
  if (is_stream(stream)) return cudaSuccess;
  return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
}

bool simt::is_captured(cudaStream_t stream) {
  const machine::HostLock lock;
  return is_stream(stream) && capture_of(stream) != nullptr;
}

bool simt::begins_now(cudaStream_t stream) {
  const machine::HostLock lock;
  if (is_captured(stream)) return false;
  set_running(is_stream(stream) ? stream : nullptr, __builtin_return_address(0));
  return true;
}

void simt::keep(cudaStream_t stream, void (*run)(void*), void* work, void (*drop)(void*)) {
  const machine::HostLock lock;
  const std::shared_ptr<void> owned(work, drop);
  in_stream(stream, [=] { run(owned.get()); });
}
