// Graphs: captured, instantiated and launched. A captured graph is the work of its streams in the
// order of the calls.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

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
  auto steps = steps_of(*graph);
  if (!steps) return call.fails(cudaErrorInvalidValue, kCircle);
  *instance = instances.make({*std::move(steps)});
  return cudaSuccess;
}

// Whether the instance can take over the graph's work: its nodes are of the same types in the same
// order.
cudaGraphExecUpdateResult update(CUgraphExec_st& instance, const CUgraph_st& graph) {
  const auto steps = steps_of(graph);
  if (!steps || steps->size() != instance.steps.size()) {
    return cudaGraphExecUpdateErrorTopologyChanged;
  }
  for (std::size_t i = 0; i < steps->size(); ++i) {
    if ((*steps)[i].type != instance.steps[i].type) return cudaGraphExecUpdateErrorNodeTypeChanged;
  }
  for (std::size_t i = 0; i < steps->size(); ++i) instance.steps[i].work = (*steps)[i].work;
  return cudaGraphExecUpdateSuccess;
}

}  // namespace

std::optional<std::vector<CUgraphExec_st::Step>> steps_of(const CUgraph_st& graph) {
  std::vector<CUgraphExec_st::Step> steps;
  std::set<const CUgraphNode_st*> done;
  const auto is_ready = [&](const CUgraphNode_st& node) {
    return std::all_of(node.needs.begin(), node.needs.end(), [&](const auto* need) {
      return done.contains(need);
    });
  };
  // Mostly one pass is enough, because nodes are added after those on which they depend.
  for (bool any = true; any && steps.size() < graph.nodes.size();) {
    any = false;
    for (const auto& node : graph.nodes) {
      if (done.contains(node.get()) || !is_ready(*node)) continue;
      steps.push_back({node.get(), node->type, node->work});
      any = done.insert(node.get()).second;
    }
  }
  if (steps.size() < graph.nodes.size()) return std::nullopt;
  return steps;
}

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
  CUgraph_st captured;
  for (const Capture::Captured& work : capture->work) {
    std::vector<const CUgraphNode_st*> needs;
    if (!captured.nodes.empty()) needs.push_back(captured.nodes.back().get());
    captured.nodes.push_back(std::make_unique<CUgraphNode_st>(work.type, work.work, needs));
  }
  *graph = graphs.make(std::move(captured));
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

cudaError_t cudaGraphExecUpdate(
    cudaGraphExec_t instance, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  const Call call;
  if (!instances.holds(instance) || !graphs.holds(graph) || result == nullptr) {
    return call.fails(cudaErrorInvalidValue, kNoGraph);
  }
  *result = {update(*instance, *graph), nullptr, nullptr};
  if (result->result == cudaGraphExecUpdateSuccess) return cudaSuccess;
  return call.fails(cudaErrorGraphExecUpdateFailure, "the graph has other nodes than the instance");
}

cudaError_t cudaGraphExecUpdate(
    cudaGraphExec_t instance, cudaGraph_t graph, cudaGraphNode_t* error_node,
    cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo all = {};
  const cudaError_t error = cudaGraphExecUpdate(instance, graph, &all);
  if (error_node != nullptr) *error_node = nullptr;
  if (result != nullptr) *result = all.result;
  return error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (!instances.holds(instance)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  for (const CUgraphExec_st::Step& step : instance->steps) {
    if (step.enabled) in_stream(stream, step.work, step.type);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (!instances.holds(instance)) return call.fails(cudaErrorInvalidValue, kNoGraph);
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
