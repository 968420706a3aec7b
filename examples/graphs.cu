// A graph made node by node: y = a x + y on the GPU, then its sum on the host. It is launched
// twice, the second time with another a.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                \
  if (cudaError_t error = call; error != cudaSuccess) {                            \
    fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
    exit(1);                                                                       \
  }

__global__ void axpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

struct Total {
  const std::vector<float>& values;
  double sum;
};

void add_up(void* data) {
  Total& total = *static_cast<Total*>(data);
  total.sum = 0;
  for (const float value : total.values) total.sum += value;
}

cudaMemcpy3DParms copy_of(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<void*>(from), bytes, bytes, 1);
  copy.dstPtr = make_cudaPitchedPtr(to, bytes, bytes, 1);
  copy.extent = make_cudaExtent(bytes, 1, 1);
  copy.kind = kind;
  return copy;
}

int main() {
  int n = 1000;
  const size_t bytes = n * sizeof(float);
  std::vector<float> h_x(n, 2), h_y(n);
  float *d_x, *d_y;
  CHECK(cudaMalloc(&d_x, bytes));
  CHECK(cudaMalloc(&d_y, bytes));

  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t load, clear, compute, store, add;
  const cudaMemcpy3DParms load_x = copy_of(d_x, h_x.data(), bytes, cudaMemcpyHostToDevice);
  CHECK(cudaGraphAddMemcpyNode(&load, graph, nullptr, 0, &load_x));
  cudaMemsetParams zeros = {};
  zeros.dst = d_y;
  zeros.elementSize = sizeof(float);
  zeros.width = n;
  zeros.height = 1;
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &zeros));

  float a = 3;
  void* arguments[] = {&n, &a, &d_x, &d_y};
  cudaKernelNodeParams kernel = {};
  kernel.func = (void*)axpy;
  kernel.gridDim = dim3((n + 255) / 256);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  const cudaGraphNode_t before[] = {load, clear};
  CHECK(cudaGraphAddKernelNode(&compute, graph, before, 2, &kernel));
  CHECK(cudaGraphAddMemcpyNode1D(
      &store, graph, &compute, 1, h_y.data(), d_y, bytes, cudaMemcpyDeviceToHost));
  Total total{h_y, 0};
  const cudaHostNodeParams host = {add_up, &total};
  CHECK(cudaGraphAddHostNode(&add, graph, &store, 1, &host));

  cudaGraphExec_t instance;
  CHECK(cudaGraphInstantiate(&instance, graph, nullptr, nullptr, 0));
  CHECK(cudaGraphLaunch(instance, 0));
  CHECK(cudaDeviceSynchronize());
  printf("the sum is %g\n", total.sum);
  a = 5;
  CHECK(cudaGraphExecKernelNodeSetParams(instance, compute, &kernel));
  CHECK(cudaGraphLaunch(instance, 0));
  CHECK(cudaDeviceSynchronize());
  printf("the sum is %g\n", total.sum);
  CHECK(cudaGraphExecDestroy(instance));
  CHECK(cudaGraphDestroy(graph));
}
