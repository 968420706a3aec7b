// The headers of the CUDA samples.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "cuda/headers/cublas_v2.h"
#include "cuda/headers/cuda_runtime.h"
#include "cuda/headers/curand.h"
#include "cuda/headers/helper_cuda.h"
#include "cuda/headers/helper_functions.h"
#include "cuda/headers/nvToolsExt.h"
#include "host/call.h"

namespace host {
namespace {

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
  CHECK(runtime.printed.find("helpers_tests.cpp:") != std::string::npos);
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
