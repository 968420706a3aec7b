// Events. All work that was asked for before one is recorded has finished by then.
#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/handles.h"
#include "host/stream.h"

namespace host {
namespace {

cudaError_t create_event(const Call& call, cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  *event = events.make({(flags & cudaEventDisableTiming) == 0});
  return cudaSuccess;
}

cudaError_t record(const Call& call, cudaEvent_t event, cudaStream_t stream) {
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  event->recorded = true;
  event->clock = reached_by(stream);
  event->capture = capture_of(stream);
  return cudaSuccess;
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

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(Call(), event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const Call call;
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  host_waits(event->clock);
  return waits(call, event->capture);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Call call;
  if (!events.holds(event)) return call.fails(cudaErrorInvalidResourceHandle, kNoEvent);
  host_waits(event->clock);
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
