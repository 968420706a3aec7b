// Four rounds at one mbarrier, in inline PTX. A wait names the last bit of a phase's number;
// without an argument, it names the number itself, which PTX does not allow from 2 on.
#include <cstdint>

__global__ void rounds(float* d, unsigned bits) {
  __shared__ std::uint64_t barrier;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(blockDim.x) : "memory");
  }
  __syncthreads();
  for (unsigned phase = 0; phase < 4; ++phase) {
    std::uint64_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    unsigned complete = 0;
    while (complete == 0) {
      asm volatile(
          "{\n"
          ".reg .pred p;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          "selp.u32 %0, 1, 0, p;\n"
          "}\n"
          : "=r"(complete)
          : "r"(at), "r"(phase & bits)
          : "memory");
    }
  }
  d[threadIdx.x] = 1;
}

int main(int count, char**) {
  float* d;
  cudaMalloc(&d, 64 * sizeof(float));
  rounds<<<1, 64>>>(d, count > 1 ? 1 : ~0u);
  return cudaDeviceSynchronize();
}
