// The afterword's program: stage 5, 2D thread tiling, as a program of its own without gemm_steps.
// Its shapes must be multiples of the tile; in exchange the kernel fits on one screen.
//
//   nvcc -std=c++20 -O3 examples/standalone.cu -o standalone && ./standalone     with a GPU
//   make build/examples/standalone && build/examples/standalone               without one

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int BM = 128, BN = 128, BK = 8;  // a block's tile of C, and its step along K
constexpr int TM = 8, TN = 8;              // a thread's tile of C
constexpr int kThreads = (BM / TM) * (BN / TN);

// C = A * B for row-major A (M, K), B (K, N), C (M, N).
__global__ void __launch_bounds__(kThreads)
    sgemm(int N, int K, const float* A, const float* B, float* C) {
  __shared__ float As[BM][BK];
  __shared__ float Bs[BK][BN];

  const int block_row = blockIdx.y * BM;  // C's tile (BM, BN) starts here
  const int block_col = blockIdx.x * BN;
  const int row = threadIdx.y * TM;  // this thread's results (TM, TN) start here in it
  const int col = threadIdx.x * TN;
  const int thread = threadIdx.y * (BN / TN) + threadIdx.x;

  float sum[TM][TN] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < BM; i += kThreads / BK) {
      const int m = i + thread / BK, k = thread % BK;
      As[m][k] = A[static_cast<long long>(block_row + m) * K + k0 + k];
    }
    for (int i = 0; i < BK; i += kThreads / BN) {
      const int k = i + thread / BN, n = thread % BN;
      Bs[k][n] = B[static_cast<long long>(k0 + k) * N + block_col + n];
    }
    __syncthreads();

    for (int k = 0; k < BK; ++k) {
      float a[TM], b[TN];
      for (int i = 0; i < TM; ++i) a[i] = As[row + i][k];
      for (int j = 0; j < TN; ++j) b[j] = Bs[k][col + j];
      for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();
  }

  for (int i = 0; i < TM; ++i) {
    for (int j = 0; j < TN; ++j) {
      C[static_cast<long long>(block_row + row + i) * N + block_col + col + j] = sum[i][j];
    }
  }
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

int main() {
  const int M = 256, N = 384, K = 512;
  static_assert(M % BM == 0 && N % BN == 0 && K % BK == 0, "whole tiles only");
  std::vector<float> A(M * K), B(K * N), C(M * N);
  for (int i = 0; i < M * K; ++i) A[i] = static_cast<float>(i * 7 % 13 - 6);
  for (int i = 0; i < K * N; ++i) B[i] = static_cast<float>(i * 5 % 11 - 5);

  float *device_A, *device_B, *device_C;
  check(cudaMalloc(&device_A, A.size() * sizeof(float)), "memory for A");
  check(cudaMalloc(&device_B, B.size() * sizeof(float)), "memory for B");
  check(cudaMalloc(&device_C, C.size() * sizeof(float)), "memory for C");
  check(cudaMemcpy(device_A, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice), "A");
  check(cudaMemcpy(device_B, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice), "B");

  const dim3 grid(N / BN, M / BM), block(BN / TN, BM / TM);
  const auto multiply = [&] {
    sgemm<<<grid, block>>>(N, K, device_A, device_B, device_C);
    check(cudaGetLastError(), "the launch of sgemm");
    check(cudaDeviceSynchronize(), "sgemm");
  };
  multiply();  // the first launch also loads the kernel, so it is not timed
  const auto start = std::chrono::steady_clock::now();
  multiply();
  const std::chrono::duration<double, std::milli> time_ms =
      std::chrono::steady_clock::now() - start;

  // All numbers are small integers, so the result is exact.
  check(cudaMemcpy(C.data(), device_C, C.size() * sizeof(float), cudaMemcpyDeviceToHost), "C");
  int wrong = 0;
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
      wrong += C[i * N + j] != sum;
    }
  }
  std::printf("C (%d x %d) = A * B with K = %d: %d of %d elements wrong\n", M, N, K, wrong, M * N);
  std::printf("time %.3f ms\n", time_ms.count());

  for (float* memory : {device_A, device_B, device_C}) check(cudaFree(memory), "cudaFree");
  return wrong == 0 ? 0 : 1;
}
