// Memory that graphs allocate.
#include <cstdint>
#include <set>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/graph_memory.h"
#include "host/handles.h"
#include "machine/device_memory.h"

namespace host {
namespace {

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
