#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/host/call.h"

namespace host {

TEST_CASE("streams and events are ready at once, and no time passes between two events") {
  cudaDeviceReset();
  forget_notes();
  cudaStream_t stream = nullptr, urgent = nullptr;
  cudaEvent_t start = nullptr, stop = nullptr, untimed = nullptr;
  CHECK(cudaStreamCreate(&stream) == cudaSuccess);
  CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, -2) == cudaSuccess);
  int priority = 0;
  unsigned flags = 0;
  CHECK(cudaStreamGetPriority(urgent, &priority) == cudaSuccess);
  CHECK(priority == -2);
  CHECK(cudaStreamGetFlags(urgent, &flags) == cudaSuccess);
  CHECK(flags == cudaStreamNonBlocking);
  CHECK(cudaStreamCreateWithFlags(&urgent, 77) == cudaErrorInvalidValue);
  CHECK(cudaEventCreate(&start) == cudaSuccess);
  CHECK(cudaEventCreate(&stop) == cudaSuccess);
  CHECK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming) == cudaSuccess);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaErrorInvalidResourceHandle);
  for (cudaEvent_t event : {start, untimed, stop}) {
    CHECK(cudaEventRecord(event, stream) == cudaSuccess);
  }
  CHECK(cudaStreamWaitEvent(nullptr, stop, 0) == cudaSuccess);
  CHECK(cudaEventQuery(stop) == cudaSuccess);
  CHECK(cudaEventSynchronize(stop) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
  forget_notes();
  for (int i = 0; i < 3; ++i) CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaSuccess);
  CHECK(ms == 0);
  REQUIRE(notes().size() == 1);
  CHECK(
      notes()[0].sentence ==
      "Times are not measured on a CPU: every time between two events is 0 ms.");
  CHECK(cudaEventElapsedTime(&ms, start, untimed) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(stop) == cudaSuccess);
  CHECK(cudaEventRecord(stop) == cudaErrorInvalidResourceHandle);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  CHECK(
      notes().back().sentence ==
      "cudaStreamSynchronize: the stream was not created, or was destroyed before");
}

TEST_CASE("functions of the host in a stream are called in order") {
  cudaDeviceReset();
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  std::string calls;
  const auto append = [](void* text) { *static_cast<std::string*>(text) += "f"; };
  CHECK(cudaLaunchHostFunc(stream, append, &calls) == cudaSuccess);
  CHECK(
      cudaStreamAddCallback(
          stream,
          [](cudaStream_t, cudaError_t status, void* text) {
            *static_cast<std::string*>(text) += status == cudaSuccess ? "c" : "?";
          },
          &calls, 0) == cudaSuccess);
  CHECK(calls == "fc");
  CHECK(cudaLaunchHostFunc(stream, nullptr, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("the work of a captured stream is done when its graph is launched, each time") {
  cudaDeviceReset();
  cudaStream_t stream = nullptr, other = nullptr;
  cudaEvent_t fork = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&other) == cudaSuccess);
  REQUIRE(cudaEventCreate(&fork) == cudaSuccess);
  int* d = nullptr;
  REQUIRE(cudaMalloc(&d, 8) == cudaSuccess);
  int h[2] = {1, 2}, back[2] = {};
  int calls = 0;

  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cudaStreamCaptureStatus status{};
  CHECK(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(cudaMemcpyAsync(d, h, 8, cudaMemcpyHostToDevice, stream) == cudaSuccess);
  CHECK(cudaEventRecord(fork, stream) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(other, fork, 0) == cudaSuccess);
  CHECK(cudaMemcpyAsync(back, d, 8, cudaMemcpyDeviceToHost, other) == cudaSuccess);
  simt::in_stream(other, [&calls] { ++calls; });
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(back[0] == 0);
  CHECK(calls == 0);
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 3);

  cudaGraphExec_t instance = nullptr;
  CHECK(cudaGraphInstantiate(&instance, graph, nullptr, nullptr, 0) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphLaunch(instance, stream) == cudaSuccess);
  CHECK(back[1] == 2);
  h[1] = 3;
  CHECK(cudaGraphLaunch(instance, stream) == cudaSuccess);
  CHECK(back[1] == 3);
  CHECK(calls == 2);
  CHECK(cudaGraphExecDestroy(instance) == cudaSuccess);
  CHECK(cudaGraphLaunch(instance, stream) == cudaErrorInvalidValue);
  // The other stream has left the capture.
  CHECK(cudaMemsetAsync(d, 0, 8, other) == cudaSuccess);
  CHECK(cudaMemcpy(back, d, 8, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(back[1] == 0);
}

TEST_CASE("a capture with a wait in it gives no graph") {
  cudaDeviceReset();
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
  CHECK(
      cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) ==
      cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
}

namespace {

// A node that appends a letter.
struct Letter {
  std::string* word;
  char letter;
};
void append(void* data) {
  const Letter& letter = *static_cast<const Letter*>(data);
  *letter.word += letter.letter;
}

std::string launched(cudaGraphExec_t instance, std::string& word) {
  word.clear();
  REQUIRE(cudaGraphLaunch(instance, nullptr) == cudaSuccess);
  return word;
}

}  // namespace

TEST_CASE("a graph's nodes run after those on which they depend, in every instance and clone") {
  cudaDeviceReset();
  std::string word;
  Letter a{&word, 'a'}, b{&word, 'b'}, c{&word, 'c'}, other{&word, 'x'};
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t last = nullptr, middle = nullptr, first = nullptr, empty = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  const cudaHostNodeParams of_a = {append, &a}, of_b = {append, &b}, of_c = {append, &c};
  // In the wrong order.
  CHECK(cudaGraphAddHostNode(&last, graph, nullptr, 0, &of_c) == cudaSuccess);
  CHECK(cudaGraphAddHostNode(&middle, graph, nullptr, 0, &of_b) == cudaSuccess);
  CHECK(cudaGraphAddHostNode(&first, graph, nullptr, 0, &of_a) == cudaSuccess);
  CHECK(cudaGraphAddEmptyNode(&empty, graph, &first, 1) == cudaSuccess);
  const cudaGraphNode_t from[] = {middle, empty}, to[] = {last, middle};
  CHECK(cudaGraphAddDependencies(graph, from, to, 2) == cudaSuccess);

  std::size_t count = 9;
  CHECK(cudaGraphGetRootNodes(graph, nullptr, &count) == cudaSuccess);
  CHECK(count == 1);
  cudaGraphNode_t root = nullptr;
  CHECK(cudaGraphGetRootNodes(graph, &root, &count) == cudaSuccess);
  CHECK(root == first);
  cudaGraphNodeType type{};
  CHECK(cudaGraphNodeGetType(empty, &type) == cudaSuccess);
  CHECK(type == cudaGraphNodeTypeEmpty);

  cudaGraph_t clone = nullptr;
  cudaGraphNode_t cloned = nullptr;
  cudaGraphExec_t instance = nullptr, of_clone = nullptr;
  CHECK(cudaGraphClone(&clone, graph) == cudaSuccess);
  CHECK(cudaGraphNodeFindInClone(&cloned, middle, clone) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaSuccess);
  CHECK(launched(instance, word) == "abc");
  const cudaHostNodeParams of_other = {append, &other};
  CHECK(cudaGraphHostNodeSetParams(cloned, &of_other) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&of_clone, clone, 0) == cudaSuccess);
  CHECK(launched(of_clone, word) == "axc");
  CHECK(cudaGraphExecHostNodeSetParams(instance, last, &of_other) == cudaSuccess);
  CHECK(launched(instance, word) == "abx");
  CHECK(cudaGraphNodeSetEnabled(instance, middle, 0) == cudaSuccess);
  CHECK(launched(instance, word) == "ax");

  // A whole graph as a node.
  cudaGraph_t around = nullptr;
  cudaGraphNode_t child = nullptr, after = nullptr;
  CHECK(cudaGraphCreate(&around, 0) == cudaSuccess);
  CHECK(cudaGraphAddChildGraphNode(&child, around, nullptr, 0, graph) == cudaSuccess);
  CHECK(cudaGraphAddHostNode(&after, around, &child, 1, &of_c) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&instance, around, 0) == cudaSuccess);
  CHECK(launched(instance, word) == "abcc");
}

TEST_CASE("nodes that wait for each other, and nodes of other graphs, are errors") {
  cudaDeviceReset();
  cudaGraph_t graph = nullptr, other = nullptr;
  cudaGraphNode_t one = nullptr, two = nullptr;
  cudaGraphExec_t instance = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphCreate(&other, 0) == cudaSuccess);
  CHECK(cudaGraphAddEmptyNode(&one, graph, nullptr, 0) == cudaSuccess);
  CHECK(cudaGraphAddEmptyNode(&two, other, &one, 1) == cudaErrorInvalidValue);
  CHECK(cudaGraphAddEmptyNode(&two, graph, &one, 1) == cudaSuccess);
  CHECK(cudaGraphAddDependencies(graph, &two, &one, 1) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaErrorInvalidValue);
  CHECK(notes().back().sentence.ends_with("nodes of the graph depend on each other in a circle"));
  CHECK(cudaGraphDestroyNode(two) == cudaSuccess);
  CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaSuccess);
  cudaHostNodeParams host = {append, nullptr};
  CHECK(cudaGraphHostNodeSetParams(one, &host) == cudaErrorInvalidValue);
  CHECK(cudaGraphHostNodeSetParams(two, &host) == cudaErrorInvalidValue);
}

TEST_CASE("an instance takes over the work of a graph with the same nodes, and of no other") {
  cudaDeviceReset();
  int* d = nullptr;
  REQUIRE(cudaMalloc(&d, 4) == cudaSuccess);
  cudaGraphExec_t instance = nullptr;
  int result = 0;
  for (const int value : {3, 4}) {
    cudaGraph_t graph = nullptr;
    cudaGraphNode_t set = nullptr, get = nullptr;
    REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
    cudaMemsetParams what = {};
    what.dst = d;
    what.value = value;
    what.elementSize = 4;
    what.width = what.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &what) == cudaSuccess);
    CHECK(
        cudaGraphAddMemcpyNode1D(&get, graph, &set, 1, &result, d, 4, cudaMemcpyDeviceToHost) ==
        cudaSuccess);
    cudaGraphExecUpdateResultInfo info = {};
    if (instance == nullptr) {
      CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaSuccess);
    } else {
      CHECK(cudaGraphExecUpdate(instance, graph, &info) == cudaSuccess);
    }
    CHECK(cudaGraphLaunch(instance, nullptr) == cudaSuccess);
    CHECK(result == value);
    cudaGraphNode_t more = nullptr;
    CHECK(cudaGraphAddEmptyNode(&more, graph, nullptr, 0) == cudaSuccess);
    CHECK(cudaGraphExecUpdate(instance, graph, &info) == cudaErrorGraphExecUpdateFailure);
    CHECK(info.result == cudaGraphExecUpdateErrorTopologyChanged);
  }
}

TEST_CASE("memory of a graph is there for each of its launches") {
  cudaDeviceReset();
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t take = nullptr, set = nullptr, give = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  cudaMemAllocNodeParams memory = {};
  memory.bytesize = 64;
  CHECK(cudaGraphAddMemAllocNode(&take, graph, nullptr, 0, &memory) == cudaSuccess);
  cudaMemsetParams what = {};
  what.dst = memory.dptr;
  what.value = 5;
  what.elementSize = 1;
  what.width = 64;
  what.height = 1;
  CHECK(cudaGraphAddMemsetNode(&set, graph, &take, 1, &what) == cudaSuccess);
  CHECK(cudaGraphAddMemFreeNode(&give, graph, &set, 1, memory.dptr) == cudaSuccess);
  cudaGraphExec_t instance = nullptr;
  CHECK(cudaGraphInstantiate(&instance, graph, 0) == cudaSuccess);
  for (int launch = 0; launch < 2; ++launch) {
    CHECK(cudaGraphLaunch(instance, nullptr) == cudaSuccess);
    char value = 0;
    CHECK(cudaMemcpy(&value, memory.dptr, 1, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(value == 5);
    CHECK(cudaFree(memory.dptr) == cudaSuccess);
  }
}

TEST_CASE("boxes are copied and set slice by slice") {
  cudaDeviceReset();
  cudaPitchedPtr d = {};
  const cudaExtent extent = make_cudaExtent(5, 3, 2);
  REQUIRE(cudaMalloc3D(&d, extent) == cudaSuccess);
  CHECK(cudaMemset3D(d, 1, extent) == cudaSuccess);
  std::vector<char> h(5 * 3 * 2, 7), back(h.size(), 0);
  cudaMemcpy3DParms what = {};
  what.srcPtr = make_cudaPitchedPtr(h.data(), 5, 5, 3);
  what.dstPtr = d;
  what.dstPos = make_cudaPos(1, 1, 1);
  what.extent = make_cudaExtent(2, 2, 1);
  what.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&what) == cudaSuccess);
  what = {};
  what.srcPtr = d;
  what.dstPtr = make_cudaPitchedPtr(back.data(), 5, 5, 3);
  what.extent = extent;
  what.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&what) == cudaSuccess);
  for (std::size_t i = 0; i < back.size(); ++i) {
    const std::size_t x = i % 5, y = i / 5 % 3, z = i / 15;
    CAPTURE(i);
    CHECK(back[i] == (z == 1 && y >= 1 && (x == 1 || x == 2) ? 7 : 1));
  }
  what.extent = make_cudaExtent(6, 3, 2);
  CHECK(cudaMemcpy3D(&what) == cudaErrorInvalidPitchValue);
}

}  // namespace host
