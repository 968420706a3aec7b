// A whole program that ends as its argument says.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

__global__ void stored(int* values, int at) {
  values[at + threadIdx.x] = 1;
}
__global__ void endless(volatile int* values) {
  while (values[0] != 1) {
  }
}
__global__ void empty() {}
__global__ void turns(int* values, long times) {
  for (long i = 0; i < times; ++i) {
    values[threadIdx.x] += 1;
    __syncthreads();
  }
}
__global__ void said(const char* text) {
  printf("%s\n", text);
}

int (*volatile pointers[1])(int);
__device__ int (*volatile functions[1])(int);

__global__ void calls(int* values) {
  values[threadIdx.x] = functions[0](1);
}

struct Destroyed {
  ~Destroyed() { std::printf("destroyed\n"); }
};

int main(int argc, char** argv) {
  const Destroyed destroyed;
  const char* how = argc > 1 ? argv[1] : "";
  const auto is = [how](const char* word) { return std::strcmp(how, word) == 0; };
  int* values;
  cudaMalloc(&values, 32 * sizeof(int));
  if (is("returns")) return 3;
  if (is("exits")) {
    stored<<<1, 32>>>(values, 0);
    std::printf("unfinished");
    exit(4);
  }
  if (is("aborts")) abort();
  if (is("throws")) throw std::runtime_error("nobody catches this");
  if (is("library-throws")) return std::vector<int>(3).at(5);
  if (is("calls-null")) pointers[0](0);
  if (is("calls-null-in-a-kernel")) calls<<<1, 32>>>(values);
  if (is("prints")) {
    for (int i = 0; i < 100000; ++i) std::printf("line %d\n", i);
  }
  if (is("takes-memory")) {
    std::vector<char*> taken;
    while (true) taken.push_back(new char[1 << 28]());
  }
  if (is("loops")) {
    for (volatile int i = 0; i < 1;) {
    }
  }
  if (is("loops-after-a-kernel")) {
    stored<<<1, 32>>>(values, 0);
    for (volatile int i = 0; i < 1;) {
    }
  }
  if (is("sleeps")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    std::printf("has slept\n");
  }
  if (is("takes-too-long")) {
    empty<<<1 << 30, 1>>>();
    stored<<<1, 32>>>(values, argc - 2);
    std::printf("and ends\n");
  }
  if (is("turns")) {
    cudaMemset(values, 0, 32 * sizeof(int));
    turns<<<1, 32>>>(values, 1L << 40);
  }
  if (is("loops-in-a-kernel")) {
    cudaMemset(values, 0, 4);
    endless<<<1, 1>>>(values);
  }
  if (is("too-many-threads")) {
    stored<<<1, 2048>>>(values, 0);
    std::printf("error %d\n", static_cast<int>(cudaGetLastError()));
  }
  if (is("out-of-bounds")) {
    stored<<<1, 32>>>(values, 1);
    std::printf("not reached\n");
  }
  if (is("says-a-text")) {
    char* text;
    cudaMalloc(&text, 6);
    cudaMemcpy(text, "hello", 6, cudaMemcpyHostToDevice);
    said<<<1, 1>>>(text);
  }
  if (is("host-memory")) {
    std::vector<int> host(32);
    stored<<<1, 32>>>(host.data(), 0);
  }
  if (is("second")) {
    stored<<<1, 32>>>(values, 0);
    stored<<<1, 32>>>(values, 1);
  }
  if (is("empty")) empty<<<1, 32>>>();
  if (is("reads-its-file")) {
    std::FILE* const file = std::fopen("endings.cu", "r");
    if (file == nullptr) return 1;
    char line[80] = "";
    std::printf("%s", std::fgets(line, sizeof line, file));
    std::fclose(file);
    stored<<<1, 32>>>(values, 0);
  }
}
