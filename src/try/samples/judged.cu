// Small programs, chosen by the first argument: mistakes, and right twins of them.
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace cg = cooperative_groups;

// What reaches the host.

struct Pair {
  double first;
  int second;  // and four bytes that nobody stores
};

template <class T>
__device__ void set_to(T& element, int value) {
  element = T(value);
}
__device__ void set_to(Pair& element, int value) {
  element.first = value;
  element.second = value;
}

template <class T>
__global__ void fill(T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) set_to(y[i], i % 100);
}

__global__ void keep_odd(const int* x, int* kept, int* count) {
  if (x[threadIdx.x] % 2 == 1) kept[atomicAdd(count, 1)] = x[threadIdx.x];
}

constexpr int n = 1000;

template <class T = int>
T* zeros(int count) {
  T* d;
  cudaMalloc(&d, count * sizeof(T));
  cudaMemset(d, 0, count * sizeof(T));
  return d;
}

template <class... Parameters, class... Arguments>
int ran(void (*kernel)(Parameters...), dim3 grid, dim3 block, Arguments... arguments) {
  kernel<<<grid, block>>>(arguments...);
  return cudaDeviceSynchronize();
}

// Copies what `blocks` of 256 threads have filled, and counts what is wrong, as many programs do.
template <class T>
int wrong_after(int blocks, const char* how = "copy") {
  T* y;
  std::vector<T> got(n);
  cudaMalloc(&y, n * sizeof(T));
  if (!std::strcmp(how, "zeros first")) cudaMemset(y, 0, n * sizeof(T));
  fill<<<blocks, 256>>>(y, n);
  if (!std::strcmp(how, "async")) {
    cudaMemcpyAsync(got.data(), y, n * sizeof(T), cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
  } else if (!std::strcmp(how, "by way of another array")) {
    T* z;
    cudaMalloc(&z, n * sizeof(T));
    cudaMemcpy(z, y, n * sizeof(T), cudaMemcpyDeviceToDevice);
    cudaMemcpy(got.data(), z, n * sizeof(T), cudaMemcpyDeviceToHost);
  } else if (!std::strcmp(how, "rows")) {
    cudaMemcpy2D(
        got.data(), 100 * sizeof(T), y, 100 * sizeof(T), 50 * sizeof(T), 10,
        cudaMemcpyDeviceToHost);
  } else {
    cudaMemcpy(got.data(), y, n * sizeof(T), cudaMemcpyDeviceToHost);
  }
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    if constexpr (!std::is_same_v<T, Pair>) wrong += std::fabs(float(got[i]) - i % 100) > 1e-5f;
  }
  cudaFree(y);
  return wrong;
}

// Memory of both, `kind` of it.
int wrong_in_shared_memory(const char* kind, int blocks) {
  float* y;
  if (!std::strcmp(kind, "managed")) {
    cudaMallocManaged(&y, n * sizeof(float));
  } else {
    cudaHostAlloc(&y, n * sizeof(float), cudaHostAllocMapped);
  }
  fill<<<blocks, 256>>>(y, n);
  cudaDeviceSynchronize();
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += std::fabs(y[i] - i % 100) > 1e-5f;
  if (std::strcmp(kind, "managed")) cudaFreeHost(y);
  return wrong;
}

// The host reads only what the kernel has counted.
int odd_numbers() {
  int x[100], kept[100], count = 0, *device_x, *device_kept, *const device_count = zeros(1);
  for (int i = 0; i < 100; ++i) x[i] = i;
  cudaMalloc(&device_x, sizeof x);
  cudaMalloc(&device_kept, sizeof kept);
  cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
  keep_odd<<<1, 100>>>(device_x, device_kept, device_count);
  cudaMemcpy(kept, device_kept, sizeof kept, cudaMemcpyDeviceToHost);
  cudaMemcpy(&count, device_count, sizeof count, cudaMemcpyDeviceToHost);
  int wrong = count != 50;
  for (int i = 0; i < count; ++i) wrong += kept[i] % 2 != 1;
  return wrong;
}

int refused(int threads) {
  float *y, got[32];
  cudaMalloc(&y, sizeof got);
  fill<<<1, threads>>>(y, 32);
  cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
  return 0;
}

// The second launch of a kernel.

__global__ void sum(const int* in, int* out) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

int sum_in_two_steps(int parts) {
  std::vector<int> ones(256 * 256, 1);
  int *in, *out, *all, result;
  cudaMalloc(&in, ones.size() * 4);
  cudaMalloc(&out, 1024);
  cudaMalloc(&all, 4);
  cudaMemcpy(in, ones.data(), ones.size() * 4, cudaMemcpyHostToDevice);
  sum<<<parts, 256>>>(in, out);
  sum<<<1, 256>>>(out, all);
  cudaMemcpy(&result, all, 4, cudaMemcpyDeviceToHost);
  return result != 256 * 256;
}

// The last of many launches, which take turns with two arrays.
__global__ void add_one(const int* from, int* to, int past) {
  to[threadIdx.x] = from[threadIdx.x + past] + 1;
}
int take_turns(int past_in_last) {
  int *a = zeros(32), *b, result;
  cudaMalloc(&b, 128);
  for (int i = 0; i < 1000; ++i) {
    add_one<<<1, 32>>>(i % 2 ? b : a, i % 2 ? a : b, i == 999 ? past_in_last : 0);
  }
  cudaMemcpy(&result, a, 4, cudaMemcpyDeviceToHost);
  return result != (past_in_last == 0 ? 1000 : 7);
}

// What is outside.

__device__ short numbers[50];
__device__ int index_of_last = 3 << 20;

template <class T>
__global__ void store(T* y, int first) {
  y[first + static_cast<int>(threadIdx.x)] = T{};
}
__global__ void load_vectors(const float* y, float* sum) {
  const float4 v = reinterpret_cast<const float4*>(y)[threadIdx.x];
  sum[threadIdx.x] = v.x + v.y + v.z + v.w;
}
__global__ void add_atomically(unsigned long long* y) {
  atomicAdd(&y[threadIdx.x], 1ull);
}
__global__ void load_from_variable() {
  const short* const at = numbers;
  index_of_last = at[index_of_last];
}
__global__ void store_in_shared(double* y) {
  extern __shared__ double dynamic[];
  dynamic[threadIdx.x] = y[0];
}
struct Triple {
  float x, y, z;
};

template <class T>
int outside(int elements, int first = 0, bool untyped = false) {
  void* untyped_y;
  T* y;
  if (untyped) {
    cudaMalloc(&untyped_y, elements * sizeof(T));
    y = static_cast<T*>(untyped_y);
  } else {
    cudaMalloc(&y, elements * sizeof(T));
  }
  return ran(store<T>, 1, 128, y, first);
}

// Blocks and threads in three dimensions, and barriers of the grid.

__global__ void same_for_each_z(int* d) {
  d[threadIdx.x + threadIdx.y * blockDim.x + blockIdx.x * 32] = threadIdx.z;
}
__global__ void same_for_each_block_z(int* d) {
  d[threadIdx.x + blockIdx.x * 8] = blockIdx.z;
}
__global__ void all_but_one_sync(int* d, int one) {
  const cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) d[blockIdx.x] = blockIdx.x;
  if (blockIdx.x == one) return;
  grid.sync();
  if (threadIdx.x == 0) d[blockIdx.x] += 1;
}
__global__ void one_more_sync(int* d, int one) {
  const cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) d[blockIdx.x] = blockIdx.x;
  grid.sync();
  if (blockIdx.x != one) grid.sync();
  if (threadIdx.x == 0) d[blockIdx.x] += 1;
}
int sync_grid(void (*kernel)(int*, int), int blocks, int one) {
  int* d;
  cudaMalloc(&d, blocks * sizeof(int));
  void* arguments[] = {&d, &one};
  cudaLaunchCooperativeKernel(kernel, dim3(blocks), dim3(64), arguments);
  return cudaDeviceSynchronize();
}

// Memory that kernels allocate.

__global__ void allocate(int* sums, int bytes, int count, bool frees) {
  int* const mine = static_cast<int*>(malloc(bytes));
  for (int i = 0; i < 10; ++i) mine[i] = i;
  int* const sum = new int(0);
  for (int i = 0; i < count; ++i) *sum += mine[i];
  sums[blockIdx.x * blockDim.x + threadIdx.x] = *sum;
  delete sum;
  if (frees) free(mine);
}
__global__ void allocate_too_much(int* missing) {
  if (malloc(5 << 20) == nullptr) atomicAdd(missing, 1);
}
__global__ void misuse_memory(int how) {
  int* const memory = new int[4];
  if (how == 0) memory[4 + threadIdx.x] = 1;
  if (how == 1) free(memory + 1);
  if (how == 2) delete[] memory, delete[] memory;
  if (how == 3) delete[] memory, printf("%d", memory[1]);
}
int sum_allocated(int bytes, int count, bool frees, int launches = 1) {
  std::vector<int> sums(256);
  int* device_sums;
  cudaMalloc(&device_sums, 1024);
  for (int i = 0; i < launches; ++i) allocate<<<2, 128>>>(device_sums, bytes, count, frees);
  cudaMemcpy(sums.data(), device_sums, 1024, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (const int sum : sums) wrong += sum != count * (count - 1) / 2;
  return wrong;
}

// A kernel is no function.
template <class Kernel, class... Arguments>
void repeat(Kernel kernel, Arguments... arguments) {
  for (int i = 0; i < 3; ++i) kernel(arguments...);
}
template <class Kernel, class... Arguments>
void launch_repeatedly(Kernel kernel, Arguments... arguments) {
  for (int i = 0; i < 3; ++i) kernel<<<1, 32>>>(arguments...);
}
int call_kernel(bool launch) {
  float* d;
  cudaMalloc(&d, 128);
  if (launch) {
    launch_repeatedly(fill<float>, d, 32);
  } else {
    repeat(fill<float>, d, 32);
  }
  return cudaGetLastError();
}

struct Program {
  const char* name;
  int (*run)();
};

struct BitFields {
  unsigned low : 24, high : 8;
};
__global__ void load_bit_field(const BitFields* from, int* to) {
  *to = from->low;
}

int main(int, char** argv) {
  const Program all[] = {
      {"floats", [] { return wrong_after<float>(3); }},
      {"floats-all", [] { return wrong_after<float>(4); }},
      {"bytes", [] { return wrong_after<unsigned char>(3); }},
      {"bytes-all", [] { return wrong_after<unsigned char>(4); }},
      {"halves", [] { return wrong_after<__half>(3); }},
      {"doubles", [] { return wrong_after<double>(3); }},
      {"pairs", [] { return wrong_after<Pair>(3); }},
      {"pairs-all", [] { return wrong_after<Pair>(4); }},
      {"async", [] { return wrong_after<float>(3, "async"); }},
      {"zeros-first", [] { return wrong_after<float>(3, "zeros first"), 0; }},
      {"two-copies", [] { return wrong_after<int>(3, "by way of another array"); }},
      {"rows", [] { return wrong_after<float>(3, "rows"), 0; }},
      {"managed", [] { return wrong_in_shared_memory("managed", 3); }},
      {"managed-all", [] { return wrong_in_shared_memory("managed", 4); }},
      {"mapped", [] { return wrong_in_shared_memory("mapped", 3); }},
      {"counted", odd_numbers},
      {"refused", [] { return refused(1025); }},
      {"once",
       [] {
         std::once_flag flag;
         int wrong = 1;
         std::call_once(flag, [&] { wrong = wrong_after<float>(4); });
         return wrong;
       }},
      {"not-refused", [] { return refused(32); }},
      {"second-step", [] { return sum_in_two_steps(16); }},
      {"second-step-all", [] { return sum_in_two_steps(256); }},
      {"turns", [] { return take_turns(0); }},
      {"turns-wrong", [] { return take_turns(1), 1; }},
      {"outside-bytes", [] { return outside<unsigned char>(100); }},
      {"outside-halves", [] { return outside<__half>(100); }},
      {"outside-doubles", [] { return outside<double>(100); }},
      {"outside-triples", [] { return outside<Triple>(100); }},
      {"outside-untyped", [] { return outside<long long>(100, 0, true); }},
      {"before-halves", [] { return outside<__half>(200, -3); }},
      {"inside-bytes", [] { return outside<unsigned char>(128); }},
      {"outside-vectors",
       [] { return ran(load_vectors, 1, 256, zeros<float>(1001), zeros<float>(256)); }},
      {"outside-atomics",
       [] { return ran(add_atomically, 1, 128, zeros<unsigned long long>(99)); }},
      {"outside-variable", [] { return ran(load_from_variable, 1, 1); }},
      {"outside-shared",
       [] {
         store_in_shared<<<1, 64, 63 * sizeof(double)>>>(zeros<double>(1));
         return int(cudaDeviceSynchronize());
       }},
      {"threads-3d", [] { return ran(same_for_each_z, 2, dim3(8, 4, 2), zeros(64)); }},
      {"blocks-3d", [] { return ran(same_for_each_block_z, dim3(2, 1, 3), 8, zeros(16)); }},
      {"grid", [] { return sync_grid(all_but_one_sync, 4, 3); }},
      {"grid-first", [] { return sync_grid(all_but_one_sync, 40, 0); }},
      {"grid-second", [] { return sync_grid(one_more_sync, 4, 2); }},
      {"grid-all", [] { return sync_grid(one_more_sync, 4, -1); }},
      {"allocates", [] { return sum_allocated(40, 10, true); }},
      {"allocates-often", [] { return sum_allocated(4000, 10, true, 20); }},
      {"leaks", [] { return sum_allocated(40, 10, false); }},
      {"past-allocated", [] { return sum_allocated(40, 11, true); }},
      {"too-much",
       [] {
         int missing = 0, *device_missing = zeros(1);
         allocate_too_much<<<1, 3>>>(device_missing);
         cudaMemcpy(&missing, device_missing, 4, cudaMemcpyDeviceToHost);
         return missing - 2;
       }},
      {"heap-store-past", [] { return ran(misuse_memory, 1, 32, 0); }},
      {"heap-free-inside", [] { return ran(misuse_memory, 1, 32, 1); }},
      {"heap-free-twice", [] { return ran(misuse_memory, 1, 32, 2); }},
      {"heap-use-after", [] { return ran(misuse_memory, 1, 32, 3); }},
      {"bit-field", [] { return ran(load_bit_field, 1, 1, zeros<BitFields>(1), zeros(1)); }},
      {"called", [] { return call_kernel(false); }},
      {"launched", [] { return call_kernel(true); }}};
  for (const auto& [name, run] : all) {
    if (std::strcmp(name, argv[1]) != 0) continue;
    const int result = run();
    std::printf("%d\n", result);
    return result != 0;
  }
  return 2;
}
