// What nvcc compiles and g++ does not, or what older programs rely on: constants in class
// templates, functions of the program with names of CUDA's, strings beside a macro's parameters,
// and owners of memory that convert to pointers.
#include <cstdint>
#include <cstdio>
#include <cstring>

// clang-format off
#define CHECK(call)                                        \
  do {                                                     \
    if (call != cudaSuccess) printf("failed: "#call"\n");  \
  } while (0)
#define SHOW(name, value) printf("the value of "name" is %g\n", double(value))
// clang-format on

template <class T>
struct Sum {
  static const T identity = static_cast<T>(0);
  const static T one = T(1);
  static const int kWidth = 4;
  static const T table[2];
  static const bool is_wide = sizeof(T) > 4;
  __device__ T operator()(T a, T b) const {
    static const int factors[] = {1, 2};
    return a + b * factors[kWidth / 4 - 1];
  }
};
template <class T>
const T Sum<T>::table[2] = {T(1), T(2)};
template <class T, int n>
class Scaled : public Sum<T> {
 public:
  static const T scale = T(n) / T(2);
};
class __align__(16) Plain {
 public:
  static const float e = 2.5f;
  static const double both[2];
  __device__ static float twice(float x) {
    return 2 * x;
  }
  float4 values;
};
const double Plain::both[2] = {3, 4};

int32_t min(int32_t a, int32_t b);
float min(float a, float b);
__device__ __forceinline__ int max(int a, int b) {
  return a > b ? a : b;
}
__host__ __device__ int clamp(int x, int least, int most) {
  return x < least ? least : x > most ? most : x;
}
__host__ __device__ constexpr int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

__global__ void compute(float* out) {
  out[0] = Sum<float>()(Sum<float>::identity, Sum<float>::one) + Scaled<float, 3>::scale + Plain::e;
  out[1] = Plain::twice(4) + Sum<double>::is_wide;
  out[2] =
      min(3, 5) + max(1, 2) + min(NAN, 1.f) + max(3u, 4u) + max(2, 7u) + min(9l, 8l) + min(.5, 1.);
  out[3] = clamp(7, 1, 5) + ceil_div(7, 2);
}

class Owner {
 public:
  explicit Owner(std::size_t bytes) { CHECK(cudaMalloc(&data_, bytes)); }
  ~Owner() { cudaFree(data_); }
  operator float*() const { return data_; }

 private:
  float* data_;
};

int main() {
  float values[4];
  const Owner data(sizeof values);
  compute<<<1, 1>>>(data);
  CHECK(cudaMemcpy(values, data, sizeof values, cudaMemcpyDeviceToHost));
  SHOW("constants", values[0]);
  SHOW("members", values[1]);
  SHOW("minima", values[2] + Plain::both[1]);
  SHOW("others", values[3] + Sum<int>::table[1]);
}
