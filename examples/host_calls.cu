// A whole program that makes many kinds of CUDA calls: halves of an array in two streams, a launch
// by cudaLaunchKernel, cuBLAS, and a copy with its pointers exchanged.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <helper_cuda.h>

#include <cstdio>

__constant__ float factor;

__global__ void scale(float* values, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= factor;
}

int main(int argc, char** argv) {
  constexpr int kCount = 512, kHalf = kCount / 2;
  findCudaDevice(argc, const_cast<const char**>(argv));
  float *values, *d_values;
  checkCudaErrors(cudaMallocHost(&values, kCount * sizeof(float)));
  checkCudaErrors(cudaMalloc(&d_values, kCount * sizeof(float)));
  for (int i = 0; i < kCount; ++i) values[i] = 1;
  const float three = 3;
  checkCudaErrors(cudaMemcpyToSymbol(factor, &three, sizeof three));

  cudaEvent_t start, stop;
  checkCudaErrors(cudaEventCreate(&start));
  checkCudaErrors(cudaEventCreate(&stop));
  cudaStream_t streams[2];
  checkCudaErrors(cudaEventRecord(start));
  for (int half = 0; half < 2; ++half) {
    checkCudaErrors(cudaStreamCreate(&streams[half]));
    float *from = values + half * kHalf, *to = d_values + half * kHalf;
    constexpr int kBytes = kHalf * sizeof(float);
    checkCudaErrors(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyHostToDevice, streams[half]));
    scale<<<kHalf / 128, 128, 0, streams[half]>>>(to, kHalf);
    checkCudaErrors(cudaMemcpyAsync(from, to, kBytes, cudaMemcpyDeviceToHost, streams[half]));
  }
  checkCudaErrors(cudaEventRecord(stop));
  checkCudaErrors(cudaDeviceSynchronize());
  float ms = -1;
  checkCudaErrors(cudaEventElapsedTime(&ms, start, stop));
  printf("two streams: %g ... %g in %g ms\n", values[0], values[kCount - 1], ms);

  int count = kCount;
  void* arguments[] = {&d_values, &count};
  checkCudaErrors(cudaLaunchKernel((void*)scale, dim3(4), dim3(128), arguments, 0, 0));

  cublasHandle_t blas;
  const float one = 1, zero = 0;
  float* d_product;
  checkCudaErrors(cudaMallocManaged(&d_product, sizeof(float)));
  checkCudaErrors(cublasCreate(&blas));
  checkCudaErrors(cublasSgemm(
      blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, kCount, &one, d_values, 1, d_values, kCount, &zero,
      d_product, 1));
  checkCudaErrors(cudaDeviceSynchronize());
  checkCudaErrors(cublasDestroy(blas));
  printf("launch and product: 512 * %g\n", *d_product / kCount);

  cudaMemcpy(values, d_values, sizeof(float), cudaMemcpyHostToDevice);
  printf("the last copy: %s\n", cudaGetErrorString(cudaGetLastError()));
  checkCudaErrors(cudaFree(d_values));
  checkCudaErrors(cudaFreeHost(values));
}
