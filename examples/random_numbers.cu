// Draws numbers in a kernel, and prints their moments: of the uniform and the normal distribution,
// and the part of random points in a square that lie in its circle.
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>

constexpr int kThreads = 128, kBlocks = 8, kDraws = 40;

struct Sums {
  double uniform, uniform2, normal, normal2, normal4, doubles, doubles2, counts;
  int inside;
};

template <class State>
__global__ void begin(State* states) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(1234, i, 0, &states[i]);
}

template <class State>
__global__ void draw(State* states, Sums* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state = states[i];
  Sums sum = {};
  for (int k = 0; k < kDraws; ++k) {
    const double u = curand_uniform(&state), v = curand_normal(&state);
    const double d = curand_normal_double(&state);
    sum.uniform += u;
    sum.uniform2 += u * u;
    sum.normal += v;
    sum.normal2 += v * v;
    sum.normal4 += v * v * v * v;
    sum.doubles += d;
    sum.doubles2 += d * d;
    sum.counts += curand_poisson(&state, 50);
    const double x = curand_uniform_double(&state), y = curand_uniform_double(&state);
    sum.inside += x * x + y * y <= 1;
  }
  sums[i] = sum;
  states[i] = state;
}

template <class State>
void print_moments(const char* name) {
  constexpr int kAll = kThreads * kBlocks;
  State* states;
  Sums* sums;
  cudaMalloc(&states, kAll * sizeof(State));
  cudaMallocManaged(&sums, kAll * sizeof(Sums));
  begin<<<kBlocks, kThreads>>>(states);
  draw<<<kBlocks, kThreads>>>(states, sums);
  cudaDeviceSynchronize();
  Sums all = {};
  for (int i = 0; i < kAll; ++i) {
    all.uniform += sums[i].uniform;
    all.uniform2 += sums[i].uniform2;
    all.normal += sums[i].normal;
    all.normal2 += sums[i].normal2;
    all.normal4 += sums[i].normal4;
    all.doubles += sums[i].doubles;
    all.doubles2 += sums[i].doubles2;
    all.counts += sums[i].counts;
    all.inside += sums[i].inside;
  }
  const double n = double(kAll) * kDraws;
  printf(
      "%s: uniform %.2f %.2f, normal %.1f %.1f %.0f, doubles %.1f %.1f, Poisson %.0f, "
      "pi off by %.1f\n",
      name, all.uniform / n, all.uniform2 / n, fabs(all.normal / n), all.normal2 / n,
      all.normal4 / n, fabs(all.doubles / n), all.doubles2 / n, all.counts / n,
      fabs(4 * all.inside / n - 3.14159));
  cudaFree(states);
  cudaFree(sums);
}

int main() {
  print_moments<curandState>("XORWOW");
  print_moments<curandStateMRG32k3a>("MRG32k3a");
  print_moments<curandStatePhilox4_32_10_t>("Philox");
}
