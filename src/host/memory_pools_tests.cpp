#include <doctest/doctest.h>

#include <cstdint>

#include "cuda/headers/cuda_runtime.h"
#include "host/call.h"

namespace host {

TEST_CASE("memory of a pool is the GPU's, and a pool keeps its attributes") {
  cudaDeviceReset();
  cudaMemPool_t standard = nullptr, current = nullptr, own = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&standard, 0) == cudaSuccess);
  CHECK(cudaDeviceGetMemPool(&current, 0) == cudaSuccess);
  CHECK(current == standard);
  CHECK(cudaDeviceGetMemPool(&current, 1) == cudaErrorInvalidDevice);
  const cudaMemPoolProps properties = {};
  CHECK(cudaMemPoolCreate(&own, &properties) == cudaSuccess);
  std::uint64_t bytes = 1 << 30;
  int reuse = 0;
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &bytes) == cudaSuccess);
  CHECK(cudaMemPoolSetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse) == cudaSuccess);
  bytes = reuse = 5;
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrReleaseThreshold, &bytes) == cudaSuccess);
  CHECK(bytes == 1 << 30);
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolReuseAllowOpportunistic, &reuse) == cudaSuccess);
  CHECK(reuse == 0);
  CHECK(
      cudaMemPoolGetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &reuse) == cudaSuccess);
  CHECK(reuse == 1);

  float *d_A = nullptr, *d_B = nullptr, *d_C = nullptr;
  CHECK(cudaMallocAsync(&d_A, 100, cudaStream_t{}) == cudaSuccess);
  CHECK(cudaMallocAsync(&d_B, 100, own, nullptr) == cudaSuccess);
  CHECK(cudaMallocFromPoolAsync(&d_C, 100, own, nullptr) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &bytes) == cudaSuccess);
  CHECK(bytes >= 300);
  for (float* d : {d_A, d_B, d_C}) {
    CHECK(cudaMemsetAsync(d, 0, 100) == cudaSuccess);
    CHECK(cudaFreeAsync(d, nullptr) == cudaSuccess);
  }
  CHECK(cudaMemPoolDestroy(own) == cudaSuccess);
  CHECK(cudaMallocAsync(&d_B, 100, own, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("what needs a second process or a second GPU says so when it is called") {
  cudaDeviceReset();
  forget_notes();
  float* d = nullptr;
  REQUIRE(cudaMalloc(&d, 100) == cudaSuccess);
  cudaIpcMemHandle_t handle;
  CHECK(cudaIpcGetMemHandle(&handle, d) == cudaErrorNotSupported);
  CHECK(
      notes().back().sentence ==
      "cudaIpcGetMemHandle: memory that several processes share is not available: one process "
      "runs here");
  int value = 7;
  CHECK(
      cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1) ==
      cudaErrorInvalidDevice);
  CHECK(value == 0);
}

TEST_CASE("attributes of a stream are kept, and a launch with clusters is an error") {
  cudaDeviceReset();
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  CHECK(
      cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value) == cudaSuccess);
  value = {};
  CHECK(
      cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value) == cudaSuccess);
  CHECK(value.accessPolicyWindow.num_bytes == 4096);

  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.attrs = &cluster;
  config.numAttrs = 1;
  CHECK(simt::check_attributes(&config) == cudaSuccess);
  cluster.val.clusterDim.x = 2;
  CHECK(simt::check_attributes(&config) == cudaErrorNotSupported);
}

}  // namespace host
