// Graphs: captured, instantiated and launched. A captured graph is the work of its streams in the
// order of the calls.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "simulator/cuda/headers/cuda_runtime_api.h"
#include "simulator/host/call.h"
#include "simulator/host/memory.h"
#include "simulator/host/stream.h"
#include "simulator/machine/memory.h"

namespace host {
namespace {

// Memory that graphs allocate.

std::set<const void*> of_graphs;

constexpr const char* kOneGpu = "there is one GPU here, with the number 0";

}  // namespace

bool is_of_graph(const void* pointer) {
  const auto array = machine::array_at(pointer);
  return array && of_graphs.contains(array->data);
}

void forget_graph_memory() {
  of_graphs.clear();
}

}  // namespace host

using namespace host;

cudaError_t simt::malloc_in_stream(
    void** pointer, std::size_t bytes, cudaStream_t stream, const char* argument) {
  const Call call("cudaMallocAsync");
  const cudaError_t error = malloc_device(pointer, bytes, argument);
  if (error == cudaSuccess && is_captured(stream)) of_graphs.insert(*pointer);
  return error;
}

cudaError_t cudaGraphAddMemAllocNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    cudaMemAllocNodeParams* parameters) {
  const Call call;
  if (parameters == nullptr) return call.fails(cudaErrorInvalidValue, "there are no parameters");
  const cudaError_t error =
      simt::malloc_device(&parameters->dptr, parameters->bytesize, "of_the_graph");
  if (error != cudaSuccess) return error;
  of_graphs.insert(parameters->dptr);
  return add_node(call, node, graph, needs, count, cudaGraphNodeTypeMemAlloc, [] {});
}

cudaError_t cudaGraphAddMemFreeNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    void* pointer) {
  const Call call;
  if (!is_of_graph(pointer)) {
    return call.fails(cudaErrorInvalidValue, "the pointer is not to memory that a graph allocates");
  }
  return add_node(call, node, graph, needs, count, cudaGraphNodeTypeMemFree, [] {});
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  const Call call;
  if (device != 0) return call.fails(cudaErrorInvalidDevice, kOneGpu);
  std::uint64_t bytes = 0;
  for (const void* data : of_graphs) {
    if (const auto array = machine::array_at(data)) bytes += array->bytes;
  }
  *static_cast<std::uint64_t*>(value) = bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType, void*) {
  const Call call;
  return device == 0 ? cudaSuccess : call.fails(cudaErrorInvalidDevice, kOneGpu);
}

cudaError_t cudaDeviceGraphMemTrim(int device) {
  const Call call;
  return device == 0 ? cudaSuccess : call.fails(cudaErrorInvalidDevice, kOneGpu);
}

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

namespace host {
namespace {

// Graphs that the program makes node by node.

CUgraph_st* graph_of(const CUgraphNode_st* node) {
  for (const auto& graph : graphs) {
    for (const auto& held : graph->nodes) {
      if (held.get() == node) return graph.get();
    }
  }
  return nullptr;
}

bool holds(const CUgraph_st& graph, const CUgraphNode_st* node) {
  return std::any_of(
      graph.nodes.begin(), graph.nodes.end(), [&](const auto& held) { return held.get() == node; });
}

// The work of a node of each type. Nothing if its parameters are wrong; then `error` says so.

// A kernel and the program's code that launches it.
struct KernelNode {
  const cudaKernelNodeParams* parameters;
  simt::UntypedLaunch* launch;
};

std::optional<Work> work_of(const Call& call, const KernelNode& node, cudaError_t& error) {
  if (node.parameters == nullptr) {
    error = call.fails(cudaErrorInvalidValue, "there are no parameters");
    return std::nullopt;
  }
  const cudaKernelNodeParams& kernel = *node.parameters;
  simt::UntypedCall prepared;
  if (kernel.func == nullptr || kernel.extra != nullptr) {
    error = call.fails(
        cudaErrorInvalidDeviceFunction, "a node needs a kernel, and its arguments in kernelParams");
    return std::nullopt;
  }
  // The arguments are copied now.
  error = simt::prepare(&prepared, kernel.func, kernel.kernelParams);
  if (error != cudaSuccess) return std::nullopt;
  return [prepared, launch = node.launch, grid = kernel.gridDim, block = kernel.blockDim,
          bytes = kernel.sharedMemBytes] { launch(prepared, grid, block, bytes); };
}

std::optional<Work> work_of(const Call& call, const cudaMemcpy3DParms& what, cudaError_t&) {
  return [call, what] { copy_box(call, what, nullptr); };
}

std::optional<Work> work_of(const Call& call, const cudaMemsetParams& what, cudaError_t& error) {
  const bool known = what.elementSize == 1 || what.elementSize == 2 || what.elementSize == 4;
  if (!known || what.dst == nullptr) {
    error = call.fails(
        cudaErrorInvalidValue, "a node sets elements of 1, 2 or 4 bytes of the GPU's memory");
    return std::nullopt;
  }
  return [call, what] {
    const std::size_t width = what.width * what.elementSize;
    const Rows rows{width, what.height, what.height == 1 ? width : what.pitch};
    // This checks the destination. Bytes that are all the same are all that most programs need.
    if (set(call, what.dst, static_cast<int>(what.value & 0xff), rows, nullptr) != cudaSuccess) {
      return;
    }
    if (what.elementSize == 1) return;
    const machine::OpenDeviceMemory open(what.dst);
    for (std::size_t row = 0; row < rows.height; ++row) {
      char* const begin = static_cast<char*>(what.dst) + row * rows.pitch;
      for (std::size_t at = 0; at < width; at += what.elementSize) {
        std::memcpy(begin + at, &what.value, what.elementSize);
      }
    }
  };
}

std::optional<Work> work_of(const Call& call, const cudaHostNodeParams& host, cudaError_t& error) {
  if (host.fn == nullptr) {
    error = call.fails(cudaErrorInvalidValue, "there is no function");
    return std::nullopt;
  }
  return [host] { host.fn(host.userData); };
}

template <class Parameters>
cudaError_t add_of(
    const Call& call, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
    std::size_t count, cudaGraphNodeType type, const Parameters* parameters) {
  if (parameters == nullptr) return call.fails(cudaErrorInvalidValue, "there are no parameters");
  cudaError_t error = cudaSuccess;
  const auto work = work_of(call, *parameters, error);
  return work ? add_node(call, node, graph, needs, count, type, *work) : error;
}

// Gives `work` of a node or of an instance's step new parameters.
template <class Parameters>
cudaError_t set_work(
    const Call& call, Work* work, cudaGraphNodeType type, cudaGraphNodeType wanted,
    const Parameters* parameters) {
  if (work == nullptr) return call.fails(cudaErrorInvalidValue, kNoNode);
  if (type != wanted || parameters == nullptr) {
    return call.fails(cudaErrorInvalidValue, "the node is of another type");
  }
  cudaError_t error = cudaSuccess;
  auto changed = work_of(call, *parameters, error);
  if (changed) *work = *std::move(changed);
  return error;
}

template <class Parameters>
cudaError_t set_node(
    const Call& call, cudaGraphNode_t node, cudaGraphNodeType type, const Parameters* parameters) {
  const bool known = graph_of(node) != nullptr;
  return set_work(call, known ? &node->work : nullptr, known ? node->type : type, type, parameters);
}

CUgraphExec_st::Step* step_of(cudaGraphExec_t instance, cudaGraphNode_t node) {
  if (!instances.holds(instance)) return nullptr;
  for (CUgraphExec_st::Step& step : instance->steps) {
    if (step.node == node) return &step;
  }
  return nullptr;
}

template <class Parameters>
cudaError_t set_step(
    const Call& call, cudaGraphExec_t instance, cudaGraphNode_t node, cudaGraphNodeType type,
    const Parameters* parameters) {
  CUgraphExec_st::Step* const step = step_of(instance, node);
  return set_work(
      call, step != nullptr ? &step->work : nullptr, step != nullptr ? step->type : type, type,
      parameters);
}

cudaMemcpy3DParms one_row(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms what = {};
  what.dstPtr = {to, bytes, bytes, 1};
  what.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  what.extent = {bytes, 1, 1};
  what.kind = kind;
  return what;
}

// Fills `nodes`, for which there is room for `*count`; without them, only counts.
void hand_out(
    const std::vector<const CUgraphNode_st*>& found, cudaGraphNode_t* nodes, std::size_t* count) {
  if (nodes == nullptr) {
    *count = found.size();
    return;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    nodes[i] = i < found.size() ? const_cast<cudaGraphNode_t>(found[i]) : nullptr;
  }
  *count = std::min(*count, found.size());
}

}  // namespace

cudaError_t add_node(
    const Call& call, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs,
    std::size_t count, cudaGraphNodeType type, const Work& work) {
  if (node == nullptr || !graphs.holds(graph)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  std::vector<const CUgraphNode_st*> before(needs, needs + count);
  for (const CUgraphNode_st* need : before) {
    if (!holds(*graph, need)) return call.fails(cudaErrorInvalidValue, kNoNode);
  }
  graph->nodes.push_back(std::make_unique<CUgraphNode_st>(type, work, std::move(before)));
  *node = graph->nodes.back().get();
  return cudaSuccess;
}

}  // namespace host

using namespace host;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  const Call call;
  if (graph == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  *graph = graphs.make({});
  return cudaSuccess;
}

cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const Call call;
  if (clone == nullptr || !graphs.holds(graph)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  CUgraph_st copy;
  for (const auto& node : graph->nodes) {
    copy.nodes.push_back(std::make_unique<CUgraphNode_st>(*node));
    copy.nodes.back()->original = node.get();
  }
  for (const auto& node : copy.nodes) {
    for (const CUgraphNode_st*& need : node->needs) {
      const auto same = std::find_if(copy.nodes.begin(), copy.nodes.end(), [&](const auto& other) {
        return other->original == need;
      });
      need = same->get();
    }
  }
  *clone = graphs.make(std::move(copy));
  return cudaSuccess;
}

cudaError_t cudaGraphNodeFindInClone(
    cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  const Call call;
  if (node == nullptr || !graphs.holds(clone)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  for (const auto& held : clone->nodes) {
    if (held->original != original) continue;
    *node = held.get();
    return cudaSuccess;
  }
  return call.fails(cudaErrorInvalidValue, kNoNode);
}

cudaError_t simt::add_kernel_node(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    const cudaKernelNodeParams* parameters, UntypedLaunch* launch) {
  const Call call("cudaGraphAddKernelNode");
  const KernelNode kernel{parameters, launch};
  return add_of(call, node, graph, needs, count, cudaGraphNodeTypeKernel, &kernel);
}

cudaError_t simt::set_kernel_node(
    cudaGraphNode_t node, const cudaKernelNodeParams* parameters, UntypedLaunch* launch) {
  const Call call("cudaGraphKernelNodeSetParams");
  const KernelNode kernel{parameters, launch};
  return set_node(call, node, cudaGraphNodeTypeKernel, &kernel);
}

cudaError_t simt::set_kernel_node(
    cudaGraphExec_t instance, cudaGraphNode_t node, const cudaKernelNodeParams* parameters,
    UntypedLaunch* launch) {
  const Call call("cudaGraphExecKernelNodeSetParams");
  const KernelNode kernel{parameters, launch};
  return set_step(call, instance, node, cudaGraphNodeTypeKernel, &kernel);
}

cudaError_t cudaGraphAddMemcpyNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    const cudaMemcpy3DParms* parameters) {
  return add_of(Call(), node, graph, needs, count, cudaGraphNodeTypeMemcpy, parameters);
}

cudaError_t cudaGraphAddMemcpyNode1D(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms what = one_row(to, from, bytes, kind);
  return add_of(Call(), node, graph, needs, count, cudaGraphNodeTypeMemcpy, &what);
}

cudaError_t cudaGraphAddMemsetNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    const cudaMemsetParams* parameters) {
  return add_of(Call(), node, graph, needs, count, cudaGraphNodeTypeMemset, parameters);
}

cudaError_t cudaGraphAddHostNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    const cudaHostNodeParams* parameters) {
  return add_of(Call(), node, graph, needs, count, cudaGraphNodeTypeHost, parameters);
}

cudaError_t cudaGraphAddEmptyNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count) {
  return add_node(Call(), node, graph, needs, count, cudaGraphNodeTypeEmpty, [] {});
}

cudaError_t cudaGraphAddChildGraphNode(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    cudaGraph_t child) {
  const Call call;
  if (!graphs.holds(child)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  const auto steps = steps_of(*child);
  if (!steps) return call.fails(cudaErrorInvalidValue, kCircle);
  return add_node(call, node, graph, needs, count, cudaGraphNodeTypeGraph, [steps = *steps] {
    for (const CUgraphExec_st::Step& step : steps) step.work();
  });
}

cudaError_t cudaGraphAddDependencies(
    cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count) {
  const Call call;
  if (!graphs.holds(graph)) return call.fails(cudaErrorInvalidValue, kNoGraph);
  for (std::size_t i = 0; i < count; ++i) {
    if (!holds(*graph, from[i]) || !holds(*graph, to[i])) {
      return call.fails(cudaErrorInvalidValue, kNoNode);
    }
    to[i]->needs.push_back(from[i]);
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  const Call call;
  CUgraph_st* const graph = graph_of(node);
  if (graph == nullptr) return call.fails(cudaErrorInvalidValue, kNoNode);
  for (const auto& other : graph->nodes) std::erase(other->needs, node);
  std::erase_if(graph->nodes, [&](const auto& held) { return held.get() == node; });
  return cudaSuccess;
}

#define SET_NODE(kind, Parameters)                                                             \
  cudaError_t cudaGraph##kind##NodeSetParams(cudaGraphNode_t node, const Parameters* values) { \
    return set_node(Call(), node, cudaGraphNodeType##kind, values);                            \
  }                                                                                            \
  cudaError_t cudaGraphExec##kind##NodeSetParams(                                              \
      cudaGraphExec_t instance, cudaGraphNode_t node, const Parameters* values) {              \
    return set_step(Call(), instance, node, cudaGraphNodeType##kind, values);                  \
  }
SET_NODE(Memcpy, cudaMemcpy3DParms)
SET_NODE(Memset, cudaMemsetParams)
SET_NODE(Host, cudaHostNodeParams)
#undef SET_NODE

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(
    cudaGraphExec_t instance, cudaGraphNode_t node, void* to, const void* from, std::size_t bytes,
    cudaMemcpyKind kind) {
  const cudaMemcpy3DParms what = one_row(to, from, bytes, kind);
  return set_step(Call(), instance, node, cudaGraphNodeTypeMemcpy, &what);
}

cudaError_t cudaGraphNodeSetEnabled(
    cudaGraphExec_t instance, cudaGraphNode_t node, unsigned enabled) {
  const Call call;
  CUgraphExec_st::Step* const step = step_of(instance, node);
  if (step == nullptr) return call.fails(cudaErrorInvalidValue, kNoNode);
  step->enabled = enabled != 0;
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const Call call;
  if (!graphs.holds(graph) || count == nullptr) return call.fails(cudaErrorInvalidValue, kNoGraph);
  std::vector<const CUgraphNode_st*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  hand_out(all, nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const Call call;
  if (!graphs.holds(graph) || count == nullptr) return call.fails(cudaErrorInvalidValue, kNoGraph);
  std::vector<const CUgraphNode_st*> roots;
  for (const auto& node : graph->nodes) {
    if (node->needs.empty()) roots.push_back(node.get());
  }
  hand_out(roots, nodes, count);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetDependencies(
    cudaGraphNode_t node, cudaGraphNode_t* needs, std::size_t* count) {
  const Call call;
  if (graph_of(node) == nullptr || count == nullptr) {
    return call.fails(cudaErrorInvalidValue, kNoNode);
  }
  hand_out(node->needs, needs, count);
  return cudaSuccess;
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const Call call;
  if (graph_of(node) == nullptr || type == nullptr) {
    return call.fails(cudaErrorInvalidValue, kNoNode);
  }
  *type = node->type;
  return cudaSuccess;
}
