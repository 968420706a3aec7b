// Random numbers in kernels, as course programs draw them. `random_numbers -- WHAT` runs one of the
// programs below; `unset` and `shared` have a mistake.
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

constexpr int kThreads = 256;

__global__ void init(curandState* states, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &states[i]);
}

__global__ void walk(curandState_t* states, float* places, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState_t local = states[i];
  float place = 0;
  for (int s = 0; s < steps; ++s) place += curand_uniform(&local) < 0.5f ? -1 : 1;
  states[i] = local;
  places[i] = place;
}

// The same numbers, with the states in global memory.
__global__ void walk_in_memory(curandStateXORWOW_t* states, float* places, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float place = 0;
  for (int s = 0; s < steps; ++s) place += curand_uniform(states + i) < 0.5f ? -1 : 1;
  places[i] = place;
}

__global__ void drop_out(float4* values, float kept, unsigned long long seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  const float4 u = curand_uniform4(&state);
  float4 v = values[i];
  v.x = u.x <= kept ? v.x / kept : 0;
  v.y = u.y <= kept ? v.y / kept : 0;
  v.z = u.z <= kept ? v.z / kept : 0;
  v.w = u.w <= kept ? v.w / kept : 0;
  values[i] = v;
}

// Eight numbers of each distribution.
constexpr int kKinds = 9, kEach = 8;
template <class State>
__global__ void draw(double* numbers) {
  State state;
  curand_init(99, threadIdx.x, 3, &state);
  double* to = numbers + threadIdx.x * kKinds * kEach;
  for (int n = 0; n < kEach; n += 2) {
    for (int second = 0; second < 2; ++second) {
      *to++ = curand(&state) * 0x1p-32;
      *to++ = curand_uniform(&state);
      *to++ = curand_uniform_double(&state);
      *to++ = curand_normal(&state);
      *to++ = curand_normal_double(&state);
      *to++ = log(curand_log_normal(&state, 1, 2));
      *to++ = curand_poisson(&state, 7);
    }
    const float2 both = curand_normal2(&state);
    const double2 doubles = curand_normal2_double(&state);
    for (double value : {double{both.x}, double{both.y}, doubles.x, doubles.y}) *to++ = value;
  }
}

// Whether numbers that are skipped are those that would have been drawn, and what is drawn first.
template <class State>
__global__ void skip(unsigned* wrong, unsigned* first) {
  State a, b, c;
  curand_init(1234, threadIdx.x, 0, &a);
  curand_init(1234, threadIdx.x, 5, &b);
  curand_init(1234, 0, 0, &c);
  first[threadIdx.x] = curand(&a);
  for (int i = 1; i < 5; ++i) curand(&a);
  skipahead_sequence(threadIdx.x, &c);
  skipahead(5, &c);
  const unsigned number = curand(&a);
  if (number != curand(&b) || number != curand(&c)) atomicAdd(wrong, 1);
}

__global__ void share(curandState* state, float* numbers) {
  numbers[threadIdx.x] = curand_uniform(state);
}

template <class T>
std::vector<T> fetched(const T* from, int count) {
  std::vector<T> to(count);
  cudaMemcpy(to.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost);
  return to;
}
template <class T>
T* allocated(int count) {
  T* data;
  cudaMalloc(&data, count * sizeof(T));
  cudaMemset(data, 0, count * sizeof(T));
  return data;
}

bool is_near(const char* what, double found, double expected, double most) {
  printf("%s: %g, expected %g\n", what, found, expected);
  return std::fabs(found - expected) <= most;
}

bool check_skips(const std::vector<unsigned>& wrong, const std::vector<unsigned>& first) {
  bool differ = true;
  for (int i = 1; i < 32; ++i) differ &= first[i] != first[i - 1];
  return wrong[0] == 0 && differ;
}

template <class State>
bool check_kinds() {
  constexpr const char* kNames[] = {"curand",  "uniform",       "uniform_double",
                                    "normal",  "normal_double", "log_normal",
                                    "poisson", "normal2",       "normal2_double"};
  constexpr double kMeans[] = {0.5, 0.5, 0.5, 0, 0, 1, 7, 0, 0};
  constexpr double kVariances[] = {1 / 12., 1 / 12., 1 / 12., 1, 1, 4, 7, 1, 1};
  double* numbers = allocated<double>(kThreads * kKinds * kEach);
  draw<State><<<1, kThreads>>>(numbers);
  const std::vector<double> all = fetched(numbers, kThreads * kKinds * kEach);
  bool right = true;
  for (int kind = 0; kind < kKinds; ++kind) {
    double sum = 0, squares = 0;
    const int count = kThreads * kEach;
    for (int i = 0; i < count; ++i) {
      const int n = i % kEach;
      const int at =
          kind < 7 ? n / 2 * 18 + n % 2 * 7 + kind : n / 2 * 18 + 14 + (kind - 7) * 2 + n % 2;
      const double x = all[i / kEach * kKinds * kEach + at];
      sum += x;
      squares += (x - kMeans[kind]) * (x - kMeans[kind]);
    }
    // Five deviations of the mean, and about as many of the variance.
    right &=
        is_near(kNames[kind], sum / count, kMeans[kind], 5 * std::sqrt(kVariances[kind] / count));
    right &= is_near("variance", squares / count, kVariances[kind], 0.16 * kVariances[kind]);
  }
  return right;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "walk";
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  bool right = true;
  curandState* states;
  cudaMalloc(&states, kThreads * sizeof *states);
  float* numbers = allocated<float>(kThreads);
  unsigned *count = allocated<unsigned>(1), *first = allocated<unsigned>(32);
  if (is("walk")) {
    init<<<2, kThreads / 2>>>(states, 1234);
    walk<<<2, kThreads / 2>>>(states, numbers, 30);
    const std::vector<float> places = fetched(numbers, kThreads);
    init<<<2, kThreads / 2>>>(states, 1234);
    walk_in_memory<<<2, kThreads / 2>>>(states, numbers, 30);
    double squares = 0;
    for (float place : places) squares += place * place / kThreads;
    right = is_near("squared distance", squares, 30, 15) && places == fetched(numbers, kThreads);
  } else if (is("dropout")) {
    std::vector<float> ones(4 * kThreads, 1);
    float4* values = allocated<float4>(kThreads);
    cudaMemcpy(values, ones.data(), sizeof(float4) * kThreads, cudaMemcpyHostToDevice);
    drop_out<<<1, kThreads>>>(values, 0.75f, 42);
    double sum = 0;
    for (float4 v : fetched(values, kThreads)) sum += (v.x + v.y + v.z + v.w) / 4 / kThreads;
    right = is_near("mean", sum, 1, 0.09);
  } else if (is("kinds")) {
    right = check_kinds<curandState>() && check_kinds<curandStatePhilox4_32_10_t>();
  } else if (is("skips")) {
    skip<curandStatePhilox4_32_10_t><<<1, 32>>>(count, first);
    right = check_skips(fetched(count, 1), fetched(first, 32));
    skip<curandState><<<1, 32>>>(count, first);
    right &= check_skips(fetched(count, 1), fetched(first, 32));
#ifdef EXTRA_FLAG_NORMAL
    // NVIDIA's header, as a compiler for the host computes it.
    const unsigned expected[] = {624778773, 3522650202, 2363946744, 1266286439};
    right &= std::equal(expected, expected + 4, fetched(first, 32).begin());
#endif
  } else if (is("unset")) {
    walk<<<1, kThreads>>>(states, numbers, 1);
  } else {
    init<<<1, 1>>>(states, 1);
    share<<<1, 64>>>(states, numbers);
  }
  cudaDeviceSynchronize();
  printf("%s\n", right ? "PASSED" : "FAILED");
  return !right;
}
