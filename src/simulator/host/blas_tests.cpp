#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "simulator/cuda/headers/cublas_v2.h"
#include "simulator/cuda/headers/cuda_runtime.h"
#include "simulator/cuda/headers/curand.h"
#include "simulator/host/blas.h"
#include "simulator/host/call.h"

namespace host {
namespace {

// An array of the GPU with these values.
template <class T>
class OnGpu {
 public:
  explicit OnGpu(const std::vector<T>& values) : count_(values.size()) {
    REQUIRE(cudaMalloc(&data_, count_ * sizeof(T)) == cudaSuccess);
    REQUIRE(
        cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) ==
        cudaSuccess);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { cudaFree(data_); }
  operator T*() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> host(count_);
    REQUIRE(
        cudaMemcpy(host.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t count_;
};

struct Blas {
  Blas() { REQUIRE(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS); }
  ~Blas() { cublasDestroy(handle); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  operator cublasHandle_t() const { return handle; }
  cublasHandle_t handle = nullptr;
};

// Small whole numbers, whose products every type holds exactly.
std::vector<double> whole_numbers(std::size_t count, int seed) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>((i * 7 + seed) % 5) - 2;
  return values;
}

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

// By the definition, with `ld`s as the tests use them.
std::vector<double> product(
    bool op_A, bool op_B, int m, int n, int k, double alpha, const std::vector<double>& A, int lda,
    const std::vector<double>& B, int ldb, double beta, std::vector<double> C, int ldc) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += (op_A ? A[l + i * lda] : A[i + l * lda]) * (op_B ? B[j + l * ldb] : B[l + j * ldb]);
      }
      double& c = C[i + j * ldc];
      c = alpha * sum + (beta == 0 ? 0 : beta * c);
    }
  }
  return C;
}

}  // namespace

TEST_CASE("cublasSgemm and cublasDgemm multiply column-major matrices, plain and transposed") {
  const Blas blas;
  const int m = 5, n = 7, k = 9;
  for (const bool op_A : {false, true}) {
    for (const bool op_B : {false, true}) {
      for (const double beta : {0.0, 0.5}) {
        CAPTURE(op_A);
        CAPTURE(op_B);
        CAPTURE(beta);
        const int lda = 11, ldb = 12, ldc = 6;
        const auto A = whole_numbers(lda * 11, 1), B = whole_numbers(ldb * 12, 2);
        auto C = whole_numbers(ldc * n, 3);
        if (beta == 0) C[0] = std::nan("");  // is not read
        const auto expected = product(op_A, op_B, m, n, k, 2, A, lda, B, ldb, beta, C, ldc);
        const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
        const OnGpu<float> sA(as<float>(A)), sB(as<float>(B)), sC(as<float>(C));
        const float alpha_s = 2, beta_s = static_cast<float>(beta);
        CHECK(
            cublasSgemm(
                blas, op(op_A), op(op_B), m, n, k, &alpha_s, sA, lda, sB, ldb, &beta_s, sC, ldc) ==
            CUBLAS_STATUS_SUCCESS);
        CHECK(sC.values() == as<float>(expected));
        const OnGpu<double> dA(A), dB(B), dC(C);
        const double alpha_d = 2;
        CHECK(
            cublasDgemm(
                blas, op(op_A), op(op_B), m, n, k, &alpha_d, dA, lda, dB, ldb, &beta, dC, ldc) ==
            CUBLAS_STATUS_SUCCESS);
        CHECK(dC.values() == expected);
      }
    }
  }
}

TEST_CASE("a batch of products lies at strides, or where an array of pointers says") {
  const Blas blas;
  const int n = 3, size = n * n, count = 4;
  const auto A = whole_numbers(size * count, 1), B = whole_numbers(size * count, 2);
  std::vector<double> expected;
  for (int i = 0; i < count; ++i) {
    const auto part = [&](const std::vector<double>& of) {
      return std::vector<double>(of.begin() + i * size, of.begin() + (i + 1) * size);
    };
    const auto C =
        product(false, false, n, n, n, 1, part(A), n, part(B), n, 0, std::vector<double>(size), n);
    expected.insert(expected.end(), C.begin(), C.end());
  }
  const OnGpu<float> dA(as<float>(A)), dB(as<float>(B));
  const OnGpu<float> dC(std::vector<float>(size * count)), dD(std::vector<float>(size * count));
  const float one = 1, zero = 0;
  CHECK(
      cublasSgemmStridedBatched(
          blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, dA, n, size, dB, n, size, &zero, dC, n,
          size, count) == CUBLAS_STATUS_SUCCESS);
  CHECK(dC.values() == as<float>(expected));
  std::vector<float*> at[3];
  float* const first[] = {dA, dB, dD};
  for (int matrix = 0; matrix < 3; ++matrix) {
    for (int i = 0; i < count; ++i) at[matrix].push_back(first[matrix] + i * size);
  }
  const OnGpu<float*> pA(at[0]), pB(at[1]), pD(at[2]);
  CHECK(
      cublasSgemmBatched(
          blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, pA, n, pB, n, &zero, pD, n, count) ==
      CUBLAS_STATUS_SUCCESS);
  CHECK(dD.values() == as<float>(expected));
  // One product too many for the arrays.
  CHECK(
      cublasSgemmStridedBatched(
          blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, dA, n, size, dB, n, size, &zero, dC, n,
          size, count + 1) == CUBLAS_STATUS_EXECUTION_FAILED);
}

TEST_CASE("cublasGemmEx multiplies 16-bit numbers and integers, and rounds on request") {
  const Blas blas;
  const int n = 4;
  const auto A = whole_numbers(n * n, 1), B = whole_numbers(n * n, 2);
  const auto expected =
      product(false, true, n, n, n, 1, A, n, B, n, 0, std::vector<double>(n * n), n);
  const auto narrow = [](const std::vector<double>& values, cudaDataType type) {
    std::vector<std::uint16_t> bits(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) set_element(bits.data(), type, i, values[i]);
    return bits;
  };
  CHECK(narrow({1.5}, CUDA_R_16F)[0] == 0x3e00);
  CHECK(narrow({1.5}, CUDA_R_16BF)[0] == 0x3fc0);
  const float one = 1, zero = 0;
  for (const cudaDataType type : {CUDA_R_16F, CUDA_R_16BF}) {
    const OnGpu<std::uint16_t> dA(narrow(A, type)), dB(narrow(B, type));
    const OnGpu<float> dC(std::vector<float>(n * n));
    CHECK(
        cublasGemmEx(
            blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, dA, type, n, dB, type, n, &zero, dC,
            CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
    CHECK(dC.values() == as<float>(expected));
    const OnGpu<std::uint16_t> narrow_C(std::vector<std::uint16_t>(n * n));
    CHECK(
        cublasGemmEx(
            blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, dA, type, n, dB, type, n, &zero,
            narrow_C, type, n, CUDA_R_32F, CUBLAS_GEMM_DEFAULT_TENSOR_OP) == CUBLAS_STATUS_SUCCESS);
    CHECK(narrow_C.values() == narrow(expected, type));
  }
  const OnGpu<std::int8_t> iA(as<std::int8_t>(A)), iB(as<std::int8_t>(B));
  const OnGpu<std::int32_t> iC(std::vector<std::int32_t>(n * n));
  const std::int32_t one_i = 1, zero_i = 0;
  CHECK(
      cublasGemmEx(
          blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one_i, iA, CUDA_R_8I, n, iB, CUDA_R_8I, n,
          &zero_i, iC, CUDA_R_32I, n, CUBLAS_COMPUTE_32I,
          CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS);
  CHECK(iC.values() == as<std::int32_t>(expected));

  // 1 + 2^-12 is not a tf32 number.
  const OnGpu<float> x(std::vector<float>{1 + std::ldexp(1.0f, -12)});
  const OnGpu<float> y(std::vector<float>{1});
  const OnGpu<float> z(std::vector<float>{0});
  const auto square = [&] {
    CHECK(
        cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, 1, y, 1, &zero, z, 1) ==
        CUBLAS_STATUS_SUCCESS);
    return z.values()[0];
  };
  CHECK(square() == 1 + std::ldexp(1.0f, -12));
  CHECK(cublasSetMathMode(blas, CUBLAS_TF32_TENSOR_OP_MATH) == CUBLAS_STATUS_SUCCESS);
  CHECK(square() == 1);
}

TEST_CASE("cublasDgemv multiplies a matrix, plain and transposed, and a vector with increments") {
  const Blas blas;
  const OnGpu<double> A(std::vector<double>{1, 2, 0, 3, 4, 0, 5, 6, 0});  // 2 x 3 with ld 3
  const OnGpu<double> x(std::vector<double>{1, 10, 100}), y(std::vector<double>{7, 8, 9});
  const double one = 1, two = 2, zero = 0;
  CHECK(
      cublasDgemv(blas, CUBLAS_OP_N, 2, 3, &one, A, 3, x, 1, &two, y, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == std::vector<double>{531 + 14, 642 + 16, 9});
  CHECK(
      cublasDgemv(blas, CUBLAS_OP_T, 2, 3, &one, A, 3, x, 1, &zero, y, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == std::vector<double>{21, 43, 65});
  CHECK(
      cublasDgemv(blas, CUBLAS_OP_T, 2, 2, &one, A, 3, x, -2, &zero, y, 2) ==
      CUBLAS_STATUS_SUCCESS);
  CHECK(y.values() == std::vector<double>{102, 43, 304});
  // The factors may be on the GPU.
  const OnGpu<double> factors(std::vector<double>{3, 0});
  CHECK(cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE) == CUBLAS_STATUS_SUCCESS);
  CHECK(
      cublasDgemv(blas, CUBLAS_OP_N, 1, 1, factors, A, 3, x, 1, factors + 1, y, 1) ==
      CUBLAS_STATUS_SUCCESS);
  CHECK(y.values()[0] == 3);
}

TEST_CASE("cuBLAS copies vectors and matrices between host and GPU") {
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
  const OnGpu<float> d(std::vector<float>(6));
  CHECK(cublasSetVector(3, 4, rows.data(), 2, d, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(d.values() == std::vector<float>{1, 3, 5, 0, 0, 0});
  CHECK(cublasSetMatrix(2, 2, 4, rows.data(), 3, d, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(d.values() == std::vector<float>{1, 2, 4, 5, 0, 0});
  std::vector<float> back(4);
  CHECK(cublasGetMatrix(1, 2, 4, d, 2, back.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(back == std::vector<float>{1, 4, 0, 0});
  CHECK(cublasGetVector(2, 4, d, 3, back.data(), 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(back == std::vector<float>{1, 5, 0, 0});
  CHECK(cublasSetVector(7, 4, rows.data(), 1, d, 1) == CUBLAS_STATUS_MAPPING_ERROR);
}

TEST_CASE("a wrong argument of cuBLAS gives its status, and a sentence") {
  const Blas blas;
  const OnGpu<float> d(std::vector<float>(12));
  std::vector<float> on_host(12);
  const float one = 1;
  CHECK(
      cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, 1, &one, d, 3, d, 1, &one, d, 4) ==
      CUBLAS_STATUS_INVALID_VALUE);
  CHECK(
      notes().back().sentence ==
      "cublasSgemm: the leading dimension of A is 3, and its columns have 4 elements");
  CHECK(
      cublasSgemm(
          blas, CUBLAS_OP_N, CUBLAS_OP_N, 4, 3, 1, &one, on_host.data(), 4, d, 1, &one, d, 4) ==
      CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(notes().back().sentence == "cublasSgemm: A is not memory of the GPU");
  const auto gemv = [&](cublasHandle_t handle, int m) {
    return cublasSgemv(handle, CUBLAS_OP_N, m, 1, &one, d, m, d, 1, &one, d, 1);
  };
  CHECK(gemv(blas, 13) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(
      notes().back().sentence ==
      "cublasSgemv: A, data_, has 48 bytes from there on, and the call needs 52");
  CHECK(gemv(nullptr, 1) == CUBLAS_STATUS_NOT_INITIALIZED);
  CHECK(
      std::string(cublasGetStatusName(CUBLAS_STATUS_NOT_INITIALIZED)) ==
      "CUBLAS_STATUS_NOT_INITIALIZED");
  CHECK(
      std::string(cublasGetStatusString(CUBLAS_STATUS_NOT_INITIALIZED)) ==
      "the library was not initialized");
}

namespace {

constexpr int kCount = 20000;

double mean_of(const std::vector<float>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation_of(const std::vector<float>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const float value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

}  // namespace

TEST_CASE("cuRAND's generators have the distributions that they are named for") {
  forget_notes();
  curandGenerator_t generator = nullptr;
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  REQUIRE(notes().size() == 1);
  CHECK(
      notes()[0].sentence ==
      "cuRAND's numbers have the right distribution here, but are others than a GPU's.");
  float* d = nullptr;
  REQUIRE(cudaMalloc(&d, kCount * sizeof(float)) == cudaSuccess);
  std::vector<float> values(kCount);
  const auto fetch = [&] {
    REQUIRE(
        cudaMemcpy(values.data(), d, kCount * sizeof(float), cudaMemcpyDeviceToHost) ==
        cudaSuccess);
  };
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, kCount) == CURAND_STATUS_SUCCESS);
  fetch();
  const std::vector<float> first = values;
  CHECK(*std::min_element(values.begin(), values.end()) > 0);
  CHECK(*std::max_element(values.begin(), values.end()) <= 1);
  CHECK(mean_of(values) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(deviation_of(values) == doctest::Approx(std::sqrt(1.0 / 12)).epsilon(0.02));
  CHECK(curandGenerateNormal(generator, d, kCount, 5, 2) == CURAND_STATUS_SUCCESS);
  fetch();
  CHECK(mean_of(values) == doctest::Approx(5).epsilon(0.02));
  CHECK(deviation_of(values) == doctest::Approx(2).epsilon(0.03));
  // The same seed gives the same numbers.
  CHECK(curandSetPseudoRandomGeneratorSeed(generator, 1234) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, kCount) == CURAND_STATUS_SUCCESS);
  fetch();
  CHECK(values == first);

  CHECK(curandGenerateNormal(generator, d, kCount - 1, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  CHECK(curandGenerateUniform(generator, d, kCount + 1) == CURAND_STATUS_LAUNCH_FAILURE);
  CHECK(curandGenerateUniform(generator, values.data(), 1) == CURAND_STATUS_LAUNCH_FAILURE);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  CHECK(curandGenerateUniform(generator, d, 1) == CURAND_STATUS_NOT_INITIALIZED);
  CHECK(cudaFree(d) == cudaSuccess);
}

}  // namespace host
