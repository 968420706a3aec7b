#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/host/call.h"
#include "simulator/machine/memory.h"

namespace host {
namespace {

std::string last_note() {
  return notes().empty() ? "" : notes().back().sentence;
}

// Forgets the notes and the error of earlier tests. Memory stays: the kernels of the ladder keep
// theirs.
struct Fresh {
  Fresh() {
    cudaGetLastError();
    forget_notes();
  }
};

}  // namespace

TEST_CASE("memory of the GPU is aligned, has a name, and is filled with large numbers at first") {
  const Fresh fresh;
  float* d_A = nullptr;
  REQUIRE(cudaMalloc((void**)&d_A, 1000 * sizeof(float)) == cudaSuccess);
  CHECK(reinterpret_cast<std::uintptr_t>(d_A) % 256 == 0);
  const auto array = machine::array_at(d_A + 999);
  REQUIRE(array.has_value());
  CHECK(array->name == "d_A");
  CHECK(array->bytes == 4000);
  CHECK(!machine::array_at(d_A + 1000));
  std::vector<float> h(1000);
  REQUIRE(cudaMemcpy(h.data(), d_A, 4000, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK((h[0] > 1e15f && h[0] < 1e19f));
  CHECK(h[999] == h[0]);
  double as_double = 0;
  std::memcpy(&as_double, h.data(), sizeof as_double);
  CHECK((as_double > 1e100 && as_double < 1e150));
  // Copies of what nobody has written have a note each, without whatever their places say.
  CHECK(last_note().starts_with(
      "4,000 of 4,000 bytes of d_A, copied here, were never written. A GPU"));
  CHECK(cudaFree(d_A) == cudaSuccess);
  CHECK(!machine::array_at(d_A));
  CHECK(machine::freed_array_at(d_A).has_value());
}

TEST_CASE("every kind of allocation gives memory of that kind") {
  const Fresh fresh;
  float *device, *managed, *pinned, *mapped, *pitched;
  std::size_t pitch = 0;
  CHECK(cudaMalloc(&device, 400) == cudaSuccess);
  CHECK(cudaMallocManaged(&managed, 400) == cudaSuccess);
  CHECK(cudaMallocHost(&pinned, 400) == cudaSuccess);
  CHECK(cudaHostAlloc((void**)&mapped, 400, cudaHostAllocMapped) == cudaSuccess);
  CHECK(cudaMallocPitch(&pitched, &pitch, 300 * sizeof(float), 7) == cudaSuccess);
  CHECK(pitch == 1536);
  CHECK(machine::array_at(pitched)->bytes == 7 * 1536);
  managed[99] = 1;  // the host may access these
  pinned[99] = 2;
  mapped[99] = 3;
  const auto type_of = [](const void* pointer) {
    cudaPointerAttributes attributes{};
    CHECK(cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess);
    return attributes.type;
  };
  CHECK(type_of(device + 5) == cudaMemoryTypeDevice);
  CHECK(type_of(managed + 5) == cudaMemoryTypeManaged);
  CHECK(type_of(pinned + 5) == cudaMemoryTypeHost);
  CHECK(type_of(&pitch) == cudaMemoryTypeUnregistered);
  float* on_gpu = nullptr;
  CHECK(cudaHostGetDevicePointer(&on_gpu, mapped, 0) == cudaSuccess);
  CHECK(on_gpu == mapped);
  CHECK(cudaHostGetDevicePointer(&on_gpu, device, 0) == cudaErrorInvalidValue);
  CHECK(cudaMemPrefetchAsync(managed, 400, 0) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(device, 400, 0) == cudaErrorInvalidValue);
  CHECK(cudaMemAdvise(managed, 401, cudaMemAdviseSetReadMostly, 0) == cudaErrorInvalidValue);

  // Each has its own way to be freed.
  CHECK(cudaFree(pinned) == cudaErrorInvalidValue);
  CHECK(last_note() == "cudaFree: pinned is memory of the host; free it by cudaFreeHost");
  CHECK(cudaFreeHost(device) == cudaErrorInvalidValue);
  CHECK(cudaFree(device + 1) == cudaErrorInvalidValue);
  CHECK(last_note() == "cudaFree: the pointer is not to the start of device");
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(cudaFree(device) == cudaErrorInvalidValue);
  CHECK(last_note() == "cudaFree: device was freed before");
  CHECK(cudaFree(managed) == cudaSuccess);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFreeHost(mapped) == cudaSuccess);
  CHECK(cudaFree(&pitch) == cudaErrorInvalidValue);
  CHECK(cudaFree(nullptr) == cudaSuccess);
}

TEST_CASE("memory of the program is the GPU's, too, while it is registered") {
  const Fresh fresh;
  std::vector<float> values(100);
  CHECK(cudaHostRegister(values.data(), 400, cudaHostRegisterDefault) == cudaSuccess);
  CHECK(machine::array_at(&values[99])->name == "values.data");
  CHECK(
      cudaHostRegister(&values[50], 4, cudaHostRegisterDefault) ==
      cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaMemset(values.data(), 0, 400) == cudaSuccess);
  CHECK(cudaHostUnregister(values.data()) == cudaSuccess);
  CHECK(cudaHostUnregister(values.data()) == cudaErrorHostMemoryNotRegistered);
  CHECK(cudaMemset(values.data(), 0, 400) == cudaErrorInvalidValue);
}

TEST_CASE(
    "more memory than this computer has is refused, and freed memory can be allocated again") {
  const Fresh fresh;
  char* memory = nullptr;
  CHECK(cudaMalloc(&memory, std::size_t{1} << 50) == cudaErrorMemoryAllocation);
  CHECK(memory == nullptr);
  CHECK(cudaMalloc(&memory, 0) == cudaSuccess);
  CHECK(memory == nullptr);
  std::size_t free_before = 0, free_after = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  CHECK(total >= free_before);
  char* kept = nullptr;
  REQUIRE(cudaMalloc(&kept, 1 << 20) == cudaSuccess);
  // More rounds than the range of addresses has room for.
  for (int round = 0; round < 20000; ++round) {
    REQUIRE(cudaMalloc(&memory, 1) == cudaSuccess);
    REQUIRE(memory != kept);
    REQUIRE(cudaFree(memory) == cudaSuccess);
  }
  CHECK(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_before - free_after == 1 << 20);
}

TEST_CASE("a copy goes in its direction, and not past the end of an array") {
  const Fresh fresh;
  std::vector<int> from(100, 7), to(100, 0);
  int *d_x, *d_y;
  REQUIRE(cudaMalloc(&d_x, 400) == cudaSuccess);
  REQUIRE(cudaMalloc(&d_y, 400) == cudaSuccess);
  CHECK(cudaMemcpy(d_x, from.data(), 400, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(d_y, d_x, 400, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(cudaMemset(d_y, 0, 4) == cudaSuccess);
  CHECK(cudaMemcpyAsync(to.data(), d_y, 400, cudaMemcpyDefault) == cudaSuccess);
  CHECK(to[0] == 0);
  CHECK(to[1] == 7);
  CHECK(to[99] == 7);

  CHECK(cudaMemcpy(to.data(), d_x, 400, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(
      last_note() ==
      "cudaMemcpy: the destination must be memory of the GPU, and is memory of the host");
  CHECK(cudaMemcpy(d_x, from.data(), 400, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(
      last_note() ==
      "cudaMemcpy: the destination, d_x, must be memory of the host, and is memory of the GPU");
  CHECK(cudaMemcpy(d_x, from.data(), 401, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(
      last_note() ==
      "cudaMemcpy: the destination, d_x, has 400 bytes from there on, and the call is for 401 "
      "bytes");
  CHECK(cudaMemcpy(d_x, d_y + 50, 204, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(to.data(), d_y + 2000, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(last_note() == "cudaMemcpy: the source is in none of the GPU's arrays");
  CHECK(cudaMemcpy(nullptr, d_y, 4, cudaMemcpyDefault) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(d_x, d_y, 4, static_cast<cudaMemcpyKind>(5)) == cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemset(d_x, 0, 401) == cudaErrorInvalidValue);
  CHECK(cudaMemset(to.data(), 0, 4) == cudaErrorInvalidValue);
  CHECK(cudaFree(d_y) == cudaSuccess);
  CHECK(cudaMemcpy(to.data(), d_y, 4, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(last_note() == "cudaMemcpy: the source, d_y, was freed before");
  CHECK(cudaMemcpyPeer(d_x, 0, d_x + 50, 0, 4) == cudaSuccess);
  CHECK(cudaMemcpyPeer(d_x, 1, d_x + 50, 0, 4) == cudaErrorInvalidDevice);
}

TEST_CASE("a copy of rows leaves what lies between them") {
  const Fresh fresh;
  char* d = nullptr;
  REQUIRE(cudaMalloc(&d, 64) == cudaSuccess);
  REQUIRE(cudaMemset(d, 1, 64) == cudaSuccess);
  const char rows[] = "abcdef";
  CHECK(cudaMemcpy2D(d, 16, rows, 2, 2, 3, cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemset2D(d + 8, 16, 'z', 3, 4) == cudaSuccess);
  char h[64];
  CHECK(cudaMemcpy(h, d, 64, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(std::string(h, 3) == "ab\1");
  CHECK(std::string(h + 16, 3) == "cd\1");
  CHECK(std::string(h + 32, 3) == "ef\1");
  CHECK(std::string(h + 48, 3) == "\1\1\1");
  CHECK(std::string(h + 55, 5) == "\1zzz\1");
  // The fourth row would end after the array.
  CHECK(cudaMemset2D(d + 14, 16, 0, 3, 4) == cudaErrorInvalidValue);
  CHECK(
      cudaMemcpy2DAsync(d, 16, rows, 2, 3, 2, cudaMemcpyHostToDevice) ==
      cudaErrorInvalidPitchValue);
}

TEST_CASE("variables of the GPU are written and read by their names") {
  const Fresh fresh;
  static float coefficients[4] = {1, 2, 3, 4};
  static int count = 0;
  const float new_ones[] = {5, 6};
  CHECK(cudaMemcpyToSymbol(coefficients, new_ones, 8, 4) == cudaSuccess);
  CHECK(coefficients[0] == 1);
  CHECK(coefficients[2] == 6);
  const int three = 3;
  CHECK(cudaMemcpyToSymbol(count, &three, sizeof(int)) == cudaSuccess);
  int read = 0;
  CHECK(cudaMemcpyFromSymbol(&read, count, sizeof(int)) == cudaSuccess);
  CHECK(read == 3);
  CHECK(cudaMemcpyToSymbol(coefficients, new_ones, 8, 12) == cudaErrorInvalidValue);
  CHECK(
      last_note() ==
      "cudaMemcpyToSymbol: the variable has 16 bytes, and the call is for 8 bytes after the first "
      "12 bytes");
  CHECK(
      cudaMemcpyToSymbol(coefficients, new_ones, 8, 0, cudaMemcpyDeviceToHost) ==
      cudaErrorInvalidMemcpyDirection);
  float* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaGetSymbolAddress((void**)&address, coefficients) == cudaSuccess);
  CHECK(address == coefficients);
  CHECK(cudaGetSymbolSize(&bytes, coefficients) == cudaSuccess);
  CHECK(bytes == 16);
  CHECK(cudaMemset(address, 0, 16) == cudaSuccess);
  CHECK(coefficients[3] == 0);
}

TEST_CASE("an error stays until it is queried") {
  const Fresh fresh;
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(std::string(cudaGetErrorName(cudaErrorMemoryAllocation)) == "cudaErrorMemoryAllocation");
  CHECK(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
  CHECK(
      std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
      "an illegal memory access was encountered");
  CHECK(
      std::string(cudaGetErrorString(static_cast<cudaError_t>(12345))) ==
      "unrecognized error code");
  static_assert(cudaErrorLaunchFailure == 719 && cudaErrorInvalidConfiguration == 9);
}

TEST_CASE("memory that a stream allocates is the GPU's") {
  const Fresh fresh;
  float* d_A = nullptr;
  CHECK(cudaMallocAsync(&d_A, 100, cudaStream_t{}) == cudaSuccess);
  CHECK(machine::array_at(d_A)->name == "d_A");
  CHECK(cudaMemsetAsync(d_A, 0, 100) == cudaSuccess);
  CHECK(cudaFreeAsync(d_A, nullptr) == cudaSuccess);
  CHECK(cudaFreeAsync(d_A, nullptr) == cudaErrorInvalidValue);
}

TEST_CASE("a launch with clusters is an error") {
  cudaGetLastError();
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
