// make latency: the cycles that a result takes, on this machine's GPU. Each operation needs the
// result of the one before, so nothing overlaps and the time per operation is its latency. One warp
// does everything, except the barrier, which needs a block. Then the rate of the tensor cores for
// each instruction of the stages, and the SM's clock while all SMs multiply.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "lab/gpu/gpu.h"
#include "model/refusal.h"
#include "simulator/cuda/hopper_instructions.h"
#include "simulator/cuda/instructions.h"
#include "text/numbers.h"

namespace lab {
namespace {

constexpr int kSteps = 4096;
constexpr int kLaunches = 9;  // the median counts
constexpr int kBarrierThreads = 256;
constexpr std::size_t kLineBytes = 128;

void check(cudaError_t error) {
  if (error != cudaSuccess)
    throw model::Refusal(std::string("the GPU: ") + cudaGetErrorString(error));
}

// Repeats `step` and returns the cycles of a step.
template <class Step>
__device__ double cycles_each(int steps, const Step& step) {
  const long long start = clock64();
#pragma unroll 16
  for (int i = 0; i < steps; ++i) step();
  return static_cast<double>(clock64() - start) / steps;
}

// The word at each lane's address is that address, so each load gives the address of the next.
// `asm volatile` keeps every load at its width.
template <int Bytes>
__global__ void chase_shared(int steps, double* cycles, std::uint64_t* last) {
  __shared__ alignas(16) unsigned words[32 * Bytes / 4];
  unsigned* mine = words + threadIdx.x * Bytes / 4;
  auto address = static_cast<unsigned>(__cvta_generic_to_shared(mine));
  mine[0] = address;
  __syncwarp();
  unsigned b = 0, c = 0, d = 0;
  *cycles = cycles_each(steps, [&] {
    if constexpr (Bytes == 4) {
      asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(address));
    } else if constexpr (Bytes == 8) {
      asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%0];" : "+r"(address), "=r"(b));
    } else {
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%0];"
                   : "+r"(address), "=r"(b), "=r"(c), "=r"(d));
    }
  });
  *last = address + b + c + d;
}

// Every line of the array holds the address of another; all lanes load the same line. kPastL1:
// loads bypass L1.
template <bool kPastL1>
__global__ void chase_global(std::uint64_t first, int steps, double* cycles, std::uint64_t* last) {
  std::uint64_t address = first;
  *cycles = cycles_each(steps, [&] {
    if constexpr (kPastL1) {
      asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(address));
    } else {
      asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(address));
    }
  });
  *last = address;
}

__global__ void chain_ffma(int steps, double* cycles, std::uint64_t* last) {
  float sum = static_cast<float>(threadIdx.x);
  *cycles = cycles_each(steps, [&] {
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(sum) : "f"(0.5f));
  });
  *last = static_cast<std::uint64_t>(sum);
}

__global__ void repeat_barrier(int steps, double* cycles) {
  const double each = cycles_each(steps, [] { __syncthreads(); });
  if (threadIdx.x == 0) *cycles = each;
}

// The tensor cores: a block multiplies the same operands again and again. In a step, a warp or a
// warpgroup multiplies and adds `products` pairs of numbers. Its sums `d` are in registers.

constexpr int kMostThreads = 256;
constexpr int kTileBytes = 256 * 128;  // the largest operand: 256 rows of 128 bytes

// By a warp, to eight sums in turn: a multiplication waits for the one before it on the same sum.
struct Mma {
  static constexpr int kAtOnce = 8, products = kAtOnce * 16 * 8 * 8;
  float d[kAtOnce][4] = {};
  unsigned a[4], b[2];
  __device__ explicit Mma(const unsigned* tiles) {
    for (int i = 0; i < 4; ++i) a[i] = tiles[threadIdx.x + 1024 * i];
    for (int i = 0; i < 2; ++i) b[i] = tiles[threadIdx.x + 1024 * (i + 4)];
  }
  __device__ void step() {
#pragma unroll
    for (auto& sum : d) mma_m16n8k8_tf32(sum, a, b);
  }
  __device__ float sum() const {
    float all = 0;
    for (const auto& sum : d) all += sum[0];
    return all;
  }
};

// By a warpgroup. A step is a group of four wgmma, as many as stage 15 makes of a K tile.
template <int N, class Derived>
struct Wgmma {
  static constexpr int kAtOnce = 4;
  float d[N / 2] = {};
  std::uint64_t b;
  __device__ explicit Wgmma(const unsigned* tiles) : b(wgmma_descriptor_of_swizzled_tile(tiles)) {}
  __device__ void step() {
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) static_cast<Derived*>(this)->multiply(k);
    wgmma_commit_group();
    wgmma_wait_group<1>();
  }
  __device__ float sum() {
    wgmma_wait_group<0>();
    wgmma_fence_operand(d);
    return d[0] + d[N / 2 - 1];
  }
};

template <int N>
struct WgmmaTf32 : Wgmma<N, WgmmaTf32<N>> {  // a in registers, b in shared memory
  static constexpr int products = WgmmaTf32::kAtOnce * 64 * N * 8;
  unsigned a[4][4];
  __device__ explicit WgmmaTf32(const unsigned* tiles) : Wgmma<N, WgmmaTf32>(tiles) {
    for (int i = 0; i < 16; ++i) a[i / 4][i % 4] = tiles[threadIdx.x + 256 * i];
  }
  __device__ void multiply(int k) { wgmma_m64nNk8_tf32(this->d, a[k], this->b + k * 32 / 16); }
};

template <int N>
struct WgmmaBf16 : Wgmma<N, WgmmaBf16<N>> {  // both in shared memory
  static constexpr int products = WgmmaBf16::kAtOnce * 64 * N * 16;
  std::uint64_t a;
  using Box = unsigned[64][32];
  __device__ explicit WgmmaBf16(const unsigned* tiles) : Wgmma<N, WgmmaBf16>(tiles) {
    a = this->b;
    this->b = wgmma_descriptor_of_transposed_boxes(*reinterpret_cast<const Box(*)[4]>(tiles));
  }
  __device__ void multiply(int k) {
    wgmma_m64nNk16_bf16(this->d, a + k * 32 / 16, this->b + k * 16 * 128 / 16);
  }
};

struct Pace {
  double cycles, ns;  // of all steps
};

template <class Operation>
__global__ void __launch_bounds__(kMostThreads, 1)
    multiply_only(int steps, Pace* pace, float* last) {
  extern __shared__ float4 dynamic[];
  auto* const tiles =
      reinterpret_cast<unsigned*>((reinterpret_cast<std::uintptr_t>(dynamic) + 1023) / 1024 * 1024);
  // Random bits, with exponents near 1 for fp32 and for bf16: zeros would need less power.
  for (unsigned i = threadIdx.x; i < kTileBytes / 4; i += blockDim.x) {
    const unsigned bits = (i + 1) * 2654435761u ^ (i + 1) * 2246822519u >> 13;
    tiles[i] = (bits & 0x80ff80ff) | 0x3f003f00;
  }
  fence_proxy_async();
  __syncthreads();
  Operation operation(tiles);
  const auto now = [] {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
  };
  const long long start = clock64();
  const unsigned long long start_ns = now();
  for (int i = 0; i < steps; ++i) operation.step();
  const float sum = operation.sum();
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    *pace = {static_cast<double>(clock64() - start), static_cast<double>(now() - start_ns)};
  }
  last[threadIdx.x] = sum;
}

// Memory of the GPU, until the program ends.
template <class T>
T* allocated(std::size_t count) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

template <class T>
T first_of(const T* memory) {
  T value;
  check(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

// Prints the median of several launches, each of which writes its cycles and its last value.
template <class Launch>
void print(const std::string& what, const std::string& how, const Launch& launch) {
  static double* const cycles = allocated<double>(1);
  static std::uint64_t* const last = allocated<std::uint64_t>(1);
  std::vector<double> all(kLaunches);
  for (double& each : all) {
    launch(cycles, last);
    check(cudaGetLastError());
    each = first_of(cycles);
  }
  std::sort(all.begin(), all.end());
  std::printf("%-28s %7.1f  %s\n", what.c_str(), all[kLaunches / 2], how.c_str());
}

// A closed chain through every line of an array, in random order so that no prefetch helps.
struct Chain {
  explicit Chain(std::size_t bytes_) : bytes(bytes_), lines(static_cast<int>(bytes / kLineBytes)) {
    constexpr std::size_t kWords = kLineBytes / sizeof(std::uint64_t);
    auto* const memory = allocated<std::uint64_t>(lines * kWords);
    const auto address_of = [&](std::size_t line) {
      return reinterpret_cast<std::uint64_t>(memory + line * kWords);
    };
    first = address_of(0);
    std::vector<std::size_t> order(lines);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    std::vector<std::uint64_t> words(lines * kWords);
    for (int i = 0; i < lines; ++i) words[order[i] * kWords] = address_of(order[(i + 1) % lines]);
    check(cudaMemcpy(memory, words.data(), words.size() * sizeof words[0], cudaMemcpyHostToDevice));
  }
  std::size_t bytes;
  int lines;
  std::uint64_t first;  // the address of a line
};

std::string mib(std::size_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

void measure_on_chip() {
  print("FFMA", "each adds to the sum of the one before", [](auto* cycles, auto* last) {
    chain_ffma<<<1, 32>>>(kSteps, cycles, last);
  });
  const std::string what = "shared memory, ", own = "32 lanes, each its own word";
  print(what + "4 bytes", own, [](auto* cycles, auto* last) {
    chase_shared<4><<<1, 32>>>(kSteps, cycles, last);
  });
  print(what + "8 bytes", own + " pair: two wavefronts", [](auto* cycles, auto* last) {
    chase_shared<8><<<1, 32>>>(kSteps, cycles, last);
  });
  print(what + "16 bytes", own + "s: four wavefronts", [](auto* cycles, auto* last) {
    chase_shared<16><<<1, 32>>>(kSteps, cycles, last);
  });
  print(
      "barrier",
      "__syncthreads of " + std::to_string(kBarrierThreads) + " threads that arrive together",
      [](auto* cycles, auto*) { repeat_barrier<<<1, kBarrierThreads>>>(kSteps, cycles); });
}

void measure_caches() {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0));
  const auto l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  const Chain in_l1(16 << 10), in_l2(l2_bytes / 8), in_memory(8 * l2_bytes);
  char* const other = allocated<char>(2 * l2_bytes);
  // The first pass over the array fills the cache, later ones hit; kSteps is many passes.
  print(
      "L1 hit", "16 KiB, one address for all lanes, like the next two",
      [&](auto* cycles, auto* last) {
        chase_global<false><<<1, 32>>>(in_l1.first, 8 * kSteps, cycles, last);
      });
  print(
      "L2 hit",
      mib(in_l2.bytes) + " of the cache's " + mib(l2_bytes) + ", every line in random order",
      [&](auto* cycles, auto* last) {
        chase_global<true><<<1, 32>>>(in_l2.first, in_l2.lines, cycles, last);
      });
  print(
      "DRAM", mib(in_memory.bytes) + ", lines in random order: misses of the TLB are included",
      [&](auto* cycles, auto* last) {
        check(cudaMemset(other, 0, 2 * l2_bytes));  // takes the array's place in L2
        chase_global<true><<<1, 32>>>(in_memory.first, 8 * kSteps, cycles, last);
      });
}

// One line: the rate of one SM, and of all of them after they have multiplied for a while.
template <class Operation>
void measure_tensor(const char* instruction, const char* operands, int threads_each, int sms) {
  constexpr int kSharedBytes = kTileBytes + 1024, kLaunchesBefore = 400;
  static Pace* const pace = allocated<Pace>(1);
  static float* const last = allocated<float>(kMostThreads);
  check(cudaFuncSetAttribute(
      multiply_only<Operation>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  const auto rate = [&](int threads, int blocks) {
    multiply_only<Operation><<<blocks, threads, kSharedBytes>>>(kSteps, pace, last);
    check(cudaGetLastError());
    const double products = 1.0 * kSteps * (threads / threads_each) * Operation::products;
    return products / first_of(pace).cycles;
  };
  std::printf("%-18s %-14s", instruction, operands);
  for (const int threads : {128, kMostThreads}) std::printf(" %7.0f", rate(threads, 1));
  for (int i = 0; i < kLaunchesBefore; ++i) rate(kMostThreads, sms);
  const double all = rate(kMostThreads, sms);
  const Pace at = first_of(pace);
  const double ghz = at.cycles / at.ns;
  std::printf(" %7.0f %6.0f %8.0f\n", all, 1000 * ghz, 2e-3 * all * sms * ghz);
}

void measure_tensor_cores(const model::Gpu& gpu) {
  if (gpu.compute_capability < 80) return;
  std::printf(
      "\n%-18s %-14s %15s %7s %6s %8s\n%-18s %-14s %7d %7d %7d %6s %8s\n", "tensor cores",
      "operands", "one SM, threads", "all SMs", "MHz", "TFLOP/s", "", "", 128, kMostThreads,
      kMostThreads, "", "");
  const int sms = gpu.sms;
  measure_tensor<Mma>("mma.m16n8k8 tf32", "registers", 32, sms);
  if (gpu.compute_capability != 90) return;  // the others have no wgmma
  measure_tensor<WgmmaTf32<64>>("wgmma.m64n64k8 tf32", "a: registers", 128, sms);
  measure_tensor<WgmmaTf32<128>>("wgmma.m64n128k8 tf32", "a: registers", 128, sms);
  measure_tensor<WgmmaTf32<256>>("wgmma.m64n256k8 tf32", "a: registers", 128, sms);
  measure_tensor<WgmmaBf16<64>>("wgmma.m64n64k16 bf16", "shared memory", 128, sms);
  measure_tensor<WgmmaBf16<128>>("wgmma.m64n128k16 bf16", "shared memory", 128, sms);
  measure_tensor<WgmmaBf16<256>>("wgmma.m64n256k16 bf16", "shared memory", 128, sms);
}

int measure(const std::string& command) {
  const gpu::Search& search = gpu::find();
  if (!search.found) throw model::Refusal("latency: needs a GPU, but " + search.why_not);
  std::printf(
      "GPU      %s, %d SMs, cc %d.%d\ndriver   %s\nrun      %s, %s\n\n", search.found->name.c_str(),
      search.found->sms, search.found->compute_capability / 10,
      search.found->compute_capability % 10, gpu::driver_and_runtime().c_str(),
      text::now_utc().c_str(), command.c_str());
  std::printf("%-28s %7s\n", "latency", "cycles");
  measure_on_chip();
  measure_caches();
  measure_tensor_cores(*search.found);
  std::printf(
      "\ncycles   of the SM's clock, between an operation and the next one that needs its result;\n"
      "         each is the median of %d launches\n",
      kLaunches);
  return 0;
}

}  // namespace
}  // namespace lab

int main(int, char** argv) {
  try {
    return lab::measure(argv[0]);
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "%s\n", refusal.what());
    return 2;
  }
}
