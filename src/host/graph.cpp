// Graphs: the work of streams while they are captured, in the order of the calls.
#include <memory>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/handles.h"
#include "host/stream.h"

namespace host {
namespace {

cudaError_t instantiate(const Call& call, cudaGraphExec_t* instance, cudaGraph_t graph) {
  if (instance == nullptr || !graphs.holds(graph)) {
    return call.fails(cudaErrorInvalidValue, kNoGraph);
  }
  *instance = instances.make({graph->work});
  return cudaSuccess;
}

}  // namespace
}  // namespace host

using namespace host;

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
