// Every form of a launch, and what only looks like one: k<<<1, 32>>>(values) in a comment.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "launches.cuh"

constexpr int kCount = 64;
#define BLOCKS(count) ((count) + 31) / 32
#define LAUNCH(kernel, ...) kernel<<<BLOCKS(kCount), 32>>>(__VA_ARGS__)

namespace math {
namespace details {
template <class T, bool kAdds>
__global__ void change(T* values, int count = kCount, T by = T(1)) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += kAdds ? by : -by;
}
}  // namespace details
__global__ void overloaded(int* values) {
  values[threadIdx.x] += 1;
}
__global__ void overloaded(float* values) {
  values[threadIdx.x] += 1;
}
}  // namespace math

extern "C" __global__ void reversed(int* values) {
  extern __shared__ __align__(16) int all[];
  __shared__ alignas(8) volatile int first[1];
  all[threadIdx.x] = values[threadIdx.x];
  if (threadIdx.x == 0) first[0] = 1;
  __syncthreads();
  values[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x] * first[0];
}

__global__ void copied(const int* from, int* to) {
  if (from != nullptr) to[threadIdx.x] = from[threadIdx.x];
}

struct Range {
  int first, count;
};
__global__ void within(int* values, Range range) {
  if (threadIdx.x < range.count) values[range.first + threadIdx.x] += 1;
}

template <class Kernel, class... Arguments>
void run(Kernel kernel, Arguments... arguments) {
  kernel<<<1, kCount>>>(arguments...);
}

struct Program {
  void (*kernel)(const int*, int*);
  void start(const int* from, int* to) const { this->kernel<<<1, kCount>>>(from, to); }
};

template <class T>
std::ostream& operator<<(std::ostream& stream, const std::vector<T>& values) {
  return stream << values.front() << "<<<" << values.back() << ">>>";
}

int main() {
  int *values, *copy;
  float* floats;
  cudaMalloc(&values, kCount * sizeof(int));
  cudaMalloc((void**)&copy, kCount * sizeof(int));
  cudaMalloc(&floats, kCount * sizeof(float));
  cudaMemset(values, 0, kCount * sizeof(int));
  cudaMemset(floats, 0, kCount * sizeof(float));

  math::details::change<int, (3 > 2)><<<BLOCKS(kCount), 32>>>(values, kCount);  // 1
  math::details::change<int, true><<<dim3(4 >> 1), dim3(1 << 5)>>>(values);     // 2
  math::overloaded<<<1, kCount>>>(values);                                      // 3
  math::overloaded<<<1, kCount>>>(floats);
  LAUNCH(doubled, values, kCount);                      // 6
  launch_doubled(values, kCount);                       // 12
  [&] { doubled<<<2, 32, 0, 0>>>(values, kCount); }();  // 24
  copied<<<1, kCount>>>(NULL, values);
  copied<<<1, kCount>>>(0, values);
  within<<<1, kCount>>>(values, Range{1, kCount - 1});  // 24, 25, 25, ...
  reversed<<<1, kCount, kCount * sizeof(int)>>>(values);
  void (*chosen)(const int*, int*) = copied;
  (*chosen)<<<1, kCount>>>(values, copy);
  chosen<<<1, kCount>>>(values, copy);
  chosen<<<1, kCount>>>(0, copy);
  Program{copied}.start(values, copy);
  std::vector<void (*)(int*)> kernels = {math::overloaded};
  for (int i = 0; i < 1000; ++i) kernels[0]<<<1, kCount>>>(copy);

  std::vector<int> result(kCount);
  std::mt19937 random(1);
  const auto now = std::chrono::steady_clock::now();
  cudaMemcpy(result.data(), copy, kCount * sizeof(int), cudaMemcpyDeviceToHost);
  std::cout << result << " k<<<1, 32>>>(values) " << std::string(R"(k<<<1>>>("x"))") << "\n";
  return random() != 0 && now.time_since_epoch().count() != 0 ? 0 : 1;
}
