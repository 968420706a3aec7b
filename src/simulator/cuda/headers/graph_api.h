// CUDA's functions for graphs: captured from streams, or made node by node.
#pragma once

#include "simulator/cuda/headers/driver_types.h"

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags);
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);

// A node runs after those on which it depends.
#define SIMT_ADD_NODE(kind, ...)                                              \
  cudaError_t cudaGraphAdd##kind##Node(                                       \
      cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, \
      std::size_t count __VA_OPT__(, ) __VA_ARGS__);
SIMT_ADD_NODE(Memcpy, const cudaMemcpy3DParms* parameters)
SIMT_ADD_NODE(Memset, const cudaMemsetParams* parameters)
SIMT_ADD_NODE(Host, const cudaHostNodeParams* parameters)
SIMT_ADD_NODE(ChildGraph, cudaGraph_t child)
SIMT_ADD_NODE(Empty)
#undef SIMT_ADD_NODE
cudaError_t cudaGraphAddMemcpyNode1D(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaGraphAddDependencies(
    cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count);
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);

#define SIMT_SET_NODE(kind, Parameters)                                                       \
  cudaError_t cudaGraph##kind##NodeSetParams(cudaGraphNode_t node, const Parameters* values); \
  cudaError_t cudaGraphExec##kind##NodeSetParams(                                             \
      cudaGraphExec_t instance, cudaGraphNode_t node, const Parameters* values);
SIMT_SET_NODE(Memcpy, cudaMemcpy3DParms)
SIMT_SET_NODE(Memset, cudaMemsetParams)
SIMT_SET_NODE(Host, cudaHostNodeParams)
#undef SIMT_SET_NODE
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(
    cudaGraphExec_t instance, cudaGraphNode_t node, void* to, const void* from, std::size_t bytes,
    cudaMemcpyKind kind);
cudaError_t cudaGraphNodeSetEnabled(
    cudaGraphExec_t instance, cudaGraphNode_t node, unsigned enabled);

// Of `nodes`, as many as there is room for; all of them if there is no such array.
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count);
cudaError_t cudaGraphNodeGetDependencies(
    cudaGraphNode_t node, cudaGraphNode_t* needs, std::size_t* count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type);
cudaError_t cudaGraphNodeFindInClone(
    cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone);

cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphInstantiate(
    cudaGraphExec_t* instance, cudaGraph_t graph, cudaGraphNode_t* error_node, char* log,
    std::size_t log_bytes);
cudaError_t cudaGraphInstantiateWithFlags(
    cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecUpdate(
    cudaGraphExec_t instance, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result);
cudaError_t cudaGraphExecUpdate(
    cudaGraphExec_t instance, cudaGraph_t graph, cudaGraphNode_t* error_node,
    cudaGraphExecUpdateResult* result);
cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream);
cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance);

// Nodes of kernels. cuda_runtime.h has their functions under CUDA's names, because the code that
// calls a kernel must be compiled with the user's file.
namespace simt {
struct UntypedCall;
using UntypedLaunch = void(const UntypedCall& call, dim3 grid, dim3 block, std::size_t bytes);
cudaError_t add_kernel_node(
    cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* needs, std::size_t count,
    const cudaKernelNodeParams* parameters, UntypedLaunch* launch);
cudaError_t set_kernel_node(
    cudaGraphNode_t node, const cudaKernelNodeParams* parameters, UntypedLaunch* launch);
cudaError_t set_kernel_node(
    cudaGraphExec_t instance, cudaGraphNode_t node, const cudaKernelNodeParams* parameters,
    UntypedLaunch* launch);
}  // namespace simt
