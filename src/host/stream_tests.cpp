#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cuda/headers/cuda_runtime.h"
#include "host/call.h"

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

}  // namespace host
