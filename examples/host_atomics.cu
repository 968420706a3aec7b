// Host code with atomics, locks and a static of its own.
#include <atomic>
#include <memory>
#include <mutex>

struct Count {
  std::atomic<int> launches{0};
  std::atomic<long long> blocks{0};
  std::atomic<unsigned char> flag{0};
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
};

__global__ void counted(
    int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const int row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
  C[row * N + col] = beta == 0 ? alpha * sum : alpha * sum + beta * C[row * N + col];
}

void sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  static const auto count = std::make_shared<Count>();
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  while (count->busy.test_and_set(std::memory_order_acquire)) {
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  int before = count->launches.fetch_add(1, std::memory_order_relaxed);
  if (!count->launches.compare_exchange_strong(++before, before)) abort();
  count->blocks -= 3;
  count->blocks |= 5;
  count->flag.exchange(1);
  launch(counted, dim3((N + 63) / 64, M), 64, 0, M, N, K, alpha, A, B, beta, C);
  count->busy.clear(std::memory_order_release);
}
