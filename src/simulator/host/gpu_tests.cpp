#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "simulator/cuda/headers/cublas_v2.h"
#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/cuda/headers/curand.h"
#include "simulator/cuda/headers/helper_cuda.h"
#include "simulator/cuda/headers/helper_functions.h"
#include "simulator/cuda/headers/nvToolsExt.h"
#include "simulator/host/call.h"
#include "simulator/machine/grid.h"

namespace host {
namespace {

__global__ void nothing(float*, int) {}
template <int N>
__global__ void nothing_of(float*) {}

// More integers than there are registers for them, between floating-point numbers.
__global__ void store_all(
    double* to, signed char a, float b, unsigned short c, int d, double e, unsigned f, long long g,
    bool h, float i, const int* j, unsigned long k, short l) {
  const double all[] = {double(a), b,         double(c), double(d),  e,         double(f),
                        double(g), double(h), i,         double(*j), double(k), double(l)};
  for (int n = 0; n < 12; ++n) to[n] = all[n];
}
struct Pair {
  float first, second;
};
__global__ void takes_a_pair(Pair) {}

// The result of `ask` while the program runs for that GPU.
template <class Ask>
void on(const char* name, Ask ask) {
  const machine::Machine machine{model::find_gpu(name)};
  machine::run(machine, ask);
}

}  // namespace

TEST_CASE("the GPU's properties are those of the GPU whose limits hold") {
  on("H100 80GB HBM3", [] {
    int count = 0, device = -1;
    CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
    CHECK(count == 1);
    CHECK(cudaGetDevice(&device) == cudaSuccess);
    CHECK(device == 0);
    cudaDeviceProp of{};
    REQUIRE(cudaGetDeviceProperties(&of, 0) == cudaSuccess);
    CHECK(std::string(of.name) == "NVIDIA H100 80GB HBM3");
    CHECK(of.major * 10 + of.minor == 90);
    CHECK(of.multiProcessorCount == 132);
    CHECK(of.sharedMemPerBlock == 49152);
    CHECK(of.sharedMemPerBlockOptin == 227 * 1024);
    CHECK(of.maxThreadsPerMultiProcessor == 2048);
    CHECK(of.totalGlobalMem == std::size_t{80} << 30);
    CHECK(of.warpSize == 32);
    // As programs compute the peak bandwidth in GB/s.
    const double peak = 2.0 * of.memoryClockRate * (of.memoryBusWidth / 8) / 1e6;
    CHECK(peak == doctest::Approx(3350).epsilon(1e-4));
    CHECK(cudaGetDeviceProperties(&of, 1) == cudaErrorInvalidDevice);
    const auto attribute = [](cudaDeviceAttr which) {
      int value = -1;
      CHECK(cudaDeviceGetAttribute(&value, which, 0) == cudaSuccess);
      return value;
    };
    CHECK(attribute(cudaDevAttrMultiProcessorCount) == 132);
    CHECK(attribute(cudaDevAttrComputeCapabilityMajor) == 9);
    CHECK(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 227 * 1024);
    CHECK(attribute(cudaDevAttrMaxThreadsPerBlock) == 1024);
    CHECK(attribute(cudaDevAttrCooperativeLaunch) == 1);
    int value = 0;
    CHECK(
        cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(9999), 0) ==
        cudaErrorInvalidValue);
  });
  on("T4", [] {
    cudaDeviceProp of{};
    CHECK(cudaGetDeviceProperties(&of, 0) == cudaSuccess);
    CHECK(of.major * 10 + of.minor == 75);
    CHECK(of.sharedMemPerMultiprocessor == 65536);
    CHECK(of.clusterLaunch == 0);
  });
}

TEST_CASE("there are no other GPUs, and versions and limits can be queried") {
  int can = 1, version = 0;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 0) == cudaSuccess);
  CHECK(can == 0);
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaErrorInvalidDevice);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice);
  CHECK(
      cudaDeviceGetP2PAttribute(&can, cudaDevP2PAttrAccessSupported, 0, 1) ==
      cudaErrorInvalidDevice);
  CHECK(cudaRuntimeGetVersion(&version) == cudaSuccess);
  CHECK(version == CUDART_VERSION);
  std::size_t heap = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 25) == cudaSuccess);
  CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize) == cudaSuccess);
  CHECK(heap == 1 << 25);
  CHECK(cudaDeviceSetLimit(static_cast<cudaLimit>(77), 1) == cudaErrorUnsupportedLimit);
}

TEST_CASE("cudaLaunchKernel passes the arguments of a kernel, also of one given as void*") {
  on("RTX 3090", [] {
    CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);  // an earlier error is not a launch's
    double* d = nullptr;
    REQUIRE(cudaMallocManaged(&d, 12 * sizeof(double)) == cudaSuccess);
    int* nine = nullptr;
    REQUIRE(cudaMallocManaged(&nine, sizeof(int)) == cudaSuccess);
    *nine = 9;
    signed char a = -1;
    float b = 2.5f, i = 8.25f;
    unsigned short c = 65535;
    int D = -4;
    double e = 0.1;
    unsigned f = 4000000000u;
    long long g = -(1ll << 40);
    bool h = true;
    unsigned long k = 1ul << 50;
    short l = -12;
    void* arguments[] = {&d, &a, &b, &c, &D, &e, &f, &g, &h, &i, &nine, &k, &l};
    const std::vector<double> expected = {
        -1, 2.5, 65535, -4, 0.1, 4e9, -std::ldexp(1.0, 40), 1, 8.25, 9, std::ldexp(1.0, 50), -12};
    const auto stored = [&] {
      const std::vector<double> values(d, d + 12);
      std::fill_n(d, 12, 0.0);
      return values;
    };
    CHECK(cudaLaunchKernel(store_all, 1, 1, arguments) == cudaSuccess);
    CHECK(stored() == expected);
    CHECK(
        cudaLaunchKernel(reinterpret_cast<void*>(store_all), dim3(1), dim3(1), arguments, 0, 0) ==
        cudaSuccess);
    CHECK(stored() == expected);
    CHECK(
        cudaLaunchCooperativeKernel(
            reinterpret_cast<const void*>(store_all), dim3(1), dim3(1), arguments) == cudaSuccess);
    CHECK(stored() == expected);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    Pair pair{1, 2};
    void* pairs[] = {&pair};
    CHECK(
        cudaLaunchKernel(reinterpret_cast<void*>(takes_a_pair), 1, 1, pairs) ==
        cudaErrorInvalidDeviceFunction);
    CHECK(
        notes().back().sentence ==
        "cudaLaunchKernel: an argument of type host::Pair cannot be passed this way here; pass the "
        "kernel itself, without a cast to void*");
    cudaFree(d);
    cudaFree(nine);
    cudaGetLastError();
  });
}

TEST_CASE("a program's occupancy queries are answered by the model") {
  set_find_registers([](const std::string&) { return 64; });
  on("RTX 3090", [] {
    int blocks = 0;
    // 1536 threads per SM; 65536 registers hold 1024 threads of 64.
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 0) == cudaSuccess);
    CHECK(blocks == 4);
    CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 256, 48 * 1024) ==
        cudaSuccess);
    CHECK(blocks == 2);
    CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0) ==
        cudaErrorInvalidValue);
    int grid = 0, block = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing_of<3>, 0, 0) == cudaSuccess);
    CHECK(block == 1024);
    CHECK(grid == 82);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, nothing, 0, 300) == cudaSuccess);
    CHECK(block == 256);
    CHECK(grid == 4 * 82);
    // 99 KB hold 512 threads with 196 bytes each, and not more.
    CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, nothing, [](int threads) {
            return threads * 196;
          }) == cudaSuccess);
    CHECK(block == 512);
    std::size_t bytes = 0;
    CHECK(
        cudaOccupancyAvailableDynamicSMemPerBlock(
            &bytes, reinterpret_cast<const void*>(nothing), 4, 256) == cudaSuccess);
    CHECK(bytes == 24 * 1024);
    cudaFuncAttributes attributes{};
    CHECK(cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess);
    CHECK(attributes.numRegs == 64);
    CHECK(attributes.maxThreadsPerBlock == 1024);
    CHECK(attributes.binaryVersion == 86);
  });
  set_find_registers([](const std::string&) { return 128; });
  on("RTX 3090", [] {
    cudaFuncAttributes attributes{};
    CHECK(cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess);
    CHECK(attributes.maxThreadsPerBlock == 512);
  });
  set_find_registers([](const std::string&) { return std::nullopt; });
  forget_notes();
  on("RTX 3090", [] {
    cudaFuncAttributes attributes{};
    CHECK(cudaFuncGetAttributes(&attributes, nothing) == cudaSuccess);
    CHECK(attributes.numRegs == 0);
  });
  REQUIRE(notes().size() == 1);
  CHECK(
      notes()[0].sentence ==
      "cudaFuncGetAttributes: the kernel's registers are not known here; 0 stands for them");
}

TEST_CASE("more than 48 KB of dynamic shared memory must be requested, up to the GPU's limit") {
  const auto* const kernel = reinterpret_cast<const void*>(nothing_of<7>);
  on("T4", [=] {
    CHECK(most_dynamic_shared_bytes(kernel) == 48 * 1024);
    CHECK(
        cudaFuncSetAttribute(
            nothing_of<7>, cudaFuncAttributeMaxDynamicSharedMemorySize, 65 * 1024) ==
        cudaErrorInvalidValue);
    CHECK(
        notes().back().sentence ==
        "cudaFuncSetAttribute: 66560 bytes of dynamic shared memory, with the kernel's 0 of its "
        "own, are more than a block of the T4 can have: 65536");
    CHECK(
        cudaFuncSetAttribute(
            nothing_of<7>, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024) == cudaSuccess);
    CHECK(most_dynamic_shared_bytes(kernel) == 64 * 1024);
    CHECK(
        cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
            cudaSharedmemCarveoutMaxShared) == cudaSuccess);
  });
}

namespace {

// The headers of the CUDA samples.

// What a child that runs `code` prints on stderr, and its exit code.
struct Ended {
  int exit_code;
  std::string printed;
};
template <class Code>
Ended in_child(Code code) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);  // else the child would print it, too
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    code();
    _exit(0);
  }
  close(ends[1]);
  Ended ended{-1, ""};
  char text[256];
  for (ssize_t got; (got = read(ends[0], text, sizeof text)) > 0;) ended.printed.append(text, got);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  return ended;
}

}  // namespace

TEST_CASE("the samples' arguments are read with one dash or two, in any case") {
  const char* argv[] = {"program", "-wA=320", "--hA=64", "-QUIET", "-scale=0.5", "file=x"};
  const int argc = 6;
  CHECK(checkCmdLineFlag(argc, argv, "quiet"));
  CHECK(checkCmdLineFlag(argc, argv, "wA"));
  CHECK(!checkCmdLineFlag(argc, argv, "w"));
  CHECK(!checkCmdLineFlag(argc, argv, "file"));
  CHECK(getCmdLineArgumentInt(argc, argv, "wA") == 320);
  CHECK(getCmdLineArgumentInt(argc, argv, "hA") == 64);
  CHECK(getCmdLineArgumentInt(argc, argv, "missing") == 0);
  CHECK(getCmdLineArgumentFloat(argc, argv, "scale") == 0.5f);
  char* text = nullptr;
  CHECK(getCmdLineArgumentString(argc, argv, "scale", &text));
  CHECK(std::string(text) == "0.5");
  CHECK(!getCmdLineArgumentString(argc, argv, "missing", &text));
  CHECK(text == nullptr);
  int value = 7;
  CHECK(getCmdLineArgumentValue(argc, argv, "hA", &value));
  CHECK(value == 64);
}

TEST_CASE("checkCudaErrors ends the program at the first error, and says where") {
  checkCudaErrors(cudaSuccess);
  checkCudaErrors(CUBLAS_STATUS_SUCCESS);
  const Ended runtime = in_child([] { checkCudaErrors(cudaSetDevice(3)); });
  CHECK(runtime.exit_code == 1);
  CHECK(runtime.printed.find("gpu_tests.cpp:") != std::string::npos);
  CHECK(
      runtime.printed.find("cudaSetDevice(3) returned 101 (cudaErrorInvalidDevice)") !=
      std::string::npos);
  const Ended blas = in_child([] { checkCudaErrors(cublasDestroy(nullptr)); });
  CHECK(blas.exit_code == 1);
  CHECK(blas.printed.find("returned 1 (CUBLAS_STATUS_NOT_INITIALIZED)") != std::string::npos);
  const Ended random = in_child([] { checkCudaErrors(curandDestroyGenerator(nullptr)); });
  CHECK(random.printed.find("returned 101 (CURAND_STATUS_NOT_INITIALIZED)") != std::string::npos);
  const Ended last = in_child([] {
    cudaSetDevice(3);
    getLastCudaError("after the kernel");
  });
  CHECK(last.exit_code == 1);
  CHECK(last.printed.find("after the kernel: invalid device ordinal") != std::string::npos);
  const Ended fine = in_child([] {
    cudaGetLastError();
    getLastCudaError("nothing is wrong");
  });
  CHECK(fine.exit_code == 0);
  CHECK(fine.printed.empty());
}

TEST_CASE("the samples find the GPU") {
  const char* argv[] = {"program", "-device=0"};
  CHECK(gpuGetMaxGflopsDeviceId() == 0);
  CHECK(checkCudaCapabilities(8, 6));
  CHECK(!checkCudaCapabilities(9, 0));
  CHECK(_ConvertSMVer2Cores(8, 6) == 128);
  CHECK(_ConvertSMVer2Cores(7, 5) == 64);
  CHECK(std::string(_ConvertSMVer2ArchName(9, 0)) == "Hopper");
  CHECK(getCmdLineArgumentInt(2, argv, "device") == 0);
}

TEST_CASE("the samples compare results") {
  const std::vector<float> reference = {1, 2, 3, 4}, near = {1, 2, 3, 4.0001f}, far = {1, 2, 3, 5};
  CHECK(sdkCompareL2fe(reference.data(), near.data(), 4, 1e-4f));
  CHECK(!sdkCompareL2fe(reference.data(), far.data(), 4, 1e-4f));
  CHECK(compareData(reference.data(), near.data(), 4, 0.01f, 0.0f));
  CHECK(!compareData(reference.data(), far.data(), 4, 0.01f, 0.0f));
  CHECK(compareData(reference.data(), far.data(), 4, 0.01f, 0.25f));
}

TEST_CASE("the samples' stop watch runs, and a note says what it measures") {
  forget_notes();
  StopWatchInterface* timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  usleep(2000);
  sdkStopTimer(&timer);
  const float ms = sdkGetTimerValue(&timer);
  CHECK(ms >= 2);
  CHECK(sdkGetAverageTimerValue(&timer) == ms);
  sdkResetTimer(&timer);
  CHECK(sdkGetTimerValue(&timer) == 0);
  sdkDeleteTimer(&timer);
  CHECK(timer == nullptr);
  REQUIRE(notes().size() == 1);
  CHECK(notes()[0].sentence.find("measured this computer") != std::string::npos);
  nvtxRangePush("a range");
  nvtxRangePop();
}

}  // namespace host
