#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "simulator/cuda/headers/cublas_v2.h"
#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/host/call.h"
#include "simulator/host/stream.h"

namespace host {

TEST_CASE("streams and events are ready at once, and no time passes between two events") {
  cudaGetLastError();
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

TEST_CASE("where a result has no place, a call fails before it has made anything") {
  const auto made = [] { return streams.size() + events.size(); };
  const auto before = made();
  void* pointer = nullptr;
  std::size_t pitch = 0;
  for (const cudaError_t error :
       {cudaStreamCreate(nullptr), cudaStreamCreateWithFlags(nullptr, cudaStreamNonBlocking),
        cudaStreamCreateWithPriority(nullptr, 0, -1), cudaStreamGetFlags(nullptr, nullptr),
        cudaStreamGetPriority(nullptr, nullptr), cudaEventCreate(nullptr),
        cudaEventCreateWithFlags(nullptr, 0), cudaDeviceCanAccessPeer(nullptr, 0, 0),
        cudaDeviceGetPCIBusId(nullptr, 20, 0), cudaGetSymbolSize(nullptr, pitch),
        cudaMallocPitch(static_cast<void**>(nullptr), &pitch, 4, 4),
        cudaMallocPitch(&pointer, nullptr, 4, 4),
        cudaMalloc3D(nullptr, make_cudaExtent(4, 4, 4))}) {
    CHECK(error == cudaErrorInvalidValue);
  }
  CHECK(cublasGetVersion(nullptr, nullptr) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(made() == before);
  CHECK(pitch == 0);
}

TEST_CASE("functions of the host in a stream are called in order") {
  cudaGetLastError();
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

TEST_CASE("boxes are copied and set slice by slice") {
  cudaGetLastError();
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
