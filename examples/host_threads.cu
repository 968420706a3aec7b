// Threads of the host, each with a stream, an array and launches of its own.
#include <cstdio>
#include <thread>
#include <vector>

constexpr int kThreads = 8, kElements = 1000, kTurns = 100;

__global__ void add_one(int* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kElements) values[i] += 1;
}

int wrong[kThreads];

void work(int number) {
  cudaStream_t stream;
  int* d_values;
  std::vector<int> values(kElements, number);
  cudaStreamCreate(&stream);
  cudaMalloc(&d_values, kElements * sizeof(int));
  cudaMemcpyAsync(d_values, values.data(), kElements * sizeof(int), cudaMemcpyHostToDevice, stream);
  for (int turn = 0; turn < kTurns; ++turn) add_one<<<4, 256, 0, stream>>>(d_values);
  cudaMemcpyAsync(values.data(), d_values, kElements * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  for (const int value : values) wrong[number] += value != number + kTurns;
  cudaFree(d_values);
  cudaStreamDestroy(stream);
}

int main() {
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  int all = 0;
  for (const int of_thread : wrong) all += of_thread;
  printf("%d of %d elements are wrong\n", all, kThreads * kElements);
}
