// The matrix products of cuBLAS.
#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "cpu_reference.h"
#include "simulator/cuda/instructions.h"
#include "simulator/host/blas.h"
#include "simulator/host/call.h"

namespace host {
namespace {

// op(X), column-major.
struct Operand {
  const void* data;
  cudaDataType type;
  std::int64_t ld;
  cublasOperation_t op;
  bool is_transposed() const { return op != CUBLAS_OP_N; }
  std::int64_t index(std::int64_t row, std::int64_t column) const {
    return is_transposed() ? column + row * ld : row + column * ld;
  }
};

struct Result {
  void* data;
  cudaDataType type;
  std::int64_t ld;
};

// How the elements are multiplied, and the type of alpha and beta.
struct Arithmetic {
  bool in_fp64;                        // the products are summed in fp64, else in fp32
  bool as_tf32;                        // a float is rounded before it is multiplied
  std::optional<cudaDataType> narrow;  // or to this type
  cudaDataType scalars;
};

struct BlasShape {
  int m, n, k;
};

struct Product {
  BlasShape shape;
  Operand A, B;
  Result C;
  Arithmetic arithmetic;
};

// The transposed of op(X), row-major without gaps: a row for each column.
template <class Element>
std::vector<Element> rows_of_columns(
    const Operand& X, int rows, int columns, const Arithmetic& arithmetic) {
  std::vector<Element> packed(static_cast<std::size_t>(rows) * columns);
#pragma omp parallel for
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row) {
      double value = element(X.data, X.type, X.index(row, column));
      if (arithmetic.as_tf32) value = std::bit_cast<float>(cvt_rna_tf32(static_cast<float>(value)));
      if (arithmetic.narrow) {
        std::uint16_t bits = 0;
        set_element(&bits, *arithmetic.narrow, 0, value);
        value = element(&bits, *arithmetic.narrow, 0);
      }
      packed[column * rows + row] = static_cast<Element>(value);
    }
  }
  return packed;
}

// C (rows x columns) = A B, row-major. When time runs out, rows are left out.
void multiply(int rows, int columns, int depth, const float* A, const float* B, float* C) {
  constexpr int kRows = 256;
  for (int row = 0; row < rows && !is_late(); row += kRows) {
    const std::size_t first = row;
    openmp_gemm(
        std::min(kRows, rows - row), columns, depth, 1, A + first * depth, B, 0,
        C + first * columns);
  }
}
void multiply(int rows, int columns, int depth, const double* A, const double* B, double* C) {
#pragma omp parallel for
  for (std::int64_t i = 0; i < rows; ++i) {
    double* const row = C + i * columns;
    std::fill_n(row, columns, 0.0);
    if (is_late()) continue;
    for (std::int64_t k = 0; k < depth; ++k) {
      const double a = A[i * depth + k];
      for (std::int64_t j = 0; j < columns; ++j) row[j] += a * B[k * columns + j];
    }
  }
}

// Read row-major, a column-major C is its transposed: op(B)^T op(A)^T.
template <class Element>
void compute(const Product& p, double alpha, double beta) {
  const auto [m, n, k] = p.shape;
  std::vector<Element> product(static_cast<std::size_t>(n) * m);
  if (alpha != 0 && k > 0) {
    const std::vector<Element> left = rows_of_columns<Element>(p.B, k, n, p.arithmetic);
    const std::vector<Element> right = rows_of_columns<Element>(p.A, m, k, p.arithmetic);
    multiply(n, m, k, left.data(), right.data(), product.data());
  }
#pragma omp parallel for
  for (std::int64_t j = 0; j < p.shape.n; ++j) {
    for (std::int64_t i = 0; i < p.shape.m; ++i) {
      const std::int64_t at = i + j * p.C.ld;
      const double before = beta == 0 ? 0 : beta * element(p.C.data, p.C.type, at);
      set_element(p.C.data, p.C.type, at, alpha * product[j * p.shape.m + i] + before);
    }
  }
}

// Several products of the same shape. Matrix number i begins i * stride elements after the first,
// or where the GPU's array of pointers says.
struct Batch {
  int count = 1;
  std::int64_t stride_A = 0, stride_B = 0, stride_C = 0;
  const void* const* A = nullptr;
  const void* const* B = nullptr;
  void* const* C = nullptr;
};

cublasStatus_t gemm(
    BlasCall call, BlasShape shape, Operand A, Operand B, Result C, Arithmetic arithmetic,
    const void* alpha, const void* beta, const Batch& batch = {}) {
  const auto [m, n, k] = shape;
  call.require(m >= 0 && n >= 0 && k >= 0 && batch.count >= 0, "a size is negative");
  call.require(
      bytes_of(A.type) > 0 && bytes_of(B.type) > 0 && bytes_of(C.type) > 0,
      "a matrix has a type that is not known here");
  const int last = std::max(0, batch.count - 1);
  const auto require = [&](const char* name, const Operand& X, int rows, int columns,
                           std::int64_t stride) {
    if (X.is_transposed()) std::swap(rows, columns);
    call.require_matrix(
        name, X.data, rows, columns, static_cast<int>(X.ld), bytes_of(X.type), last * stride);
  };
  if (batch.A == nullptr) {
    require("A", A, m, k, batch.stride_A);
    require("B", B, k, n, batch.stride_B);
    require("C", {C.data, C.type, C.ld, CUBLAS_OP_N}, m, n, batch.stride_C);
  } else {
    const auto bytes_of_pointers = static_cast<std::int64_t>(batch.count * sizeof(void*));
    call.require_on_gpu("the array of pointers to A", batch.A, bytes_of_pointers);
    call.require_on_gpu("the array of pointers to B", batch.B, bytes_of_pointers);
    call.require_on_gpu("the array of pointers to C", batch.C, bytes_of_pointers);
  }
  const auto factor = call.scalar(alpha, arithmetic.scalars);
  const auto factor_C = call.scalar(beta, arithmetic.scalars);
  return call.runs([=] {
    if (is_late()) return note_lateness();
    const auto begin = [](const void* first, cudaDataType type, std::int64_t element_number) {
      return static_cast<const char*>(first) +
             element_number * static_cast<std::int64_t>(bytes_of(type));
    };
    for (int i = 0; i < batch.count; ++i) {
      Product one{shape, A, B, C, arithmetic};
      one.A.data = batch.A != nullptr ? batch.A[i] : begin(A.data, A.type, i * batch.stride_A);
      one.B.data = batch.B != nullptr ? batch.B[i] : begin(B.data, B.type, i * batch.stride_B);
      one.C.data = batch.C != nullptr
                       ? batch.C[i]
                       : const_cast<char*>(begin(C.data, C.type, i * batch.stride_C));
      arithmetic.in_fp64 ? compute<double>(one, factor(), factor_C())
                         : compute<float>(one, factor(), factor_C());
    }
    note_lateness();
  });
}

Arithmetic arithmetic_of(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return {false, false, {}, CUDA_R_16F};
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return {false, true, {}, CUDA_R_32F};
    case CUBLAS_COMPUTE_32F_FAST_16F:
      return {false, false, CUDA_R_16F, CUDA_R_32F};
    case CUBLAS_COMPUTE_32F_FAST_16BF:
      return {false, false, CUDA_R_16BF, CUDA_R_32F};
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return {true, false, {}, CUDA_R_64F};
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return {true, false, {}, CUDA_R_32I};  // fp64 adds integers without an error
    default:
      return {false, false, {}, CUDA_R_32F};
  }
}

// The arithmetic that CUDA 10 named by its type.
cublasComputeType_t compute_in(cudaDataType type) {
  return type == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
         : type == CUDA_R_64F ? CUBLAS_COMPUTE_64F
         : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                              : CUBLAS_COMPUTE_32F;
}

// For functions whose name says the type. Floats are rounded to tf32 if the handle's mode says so.
Arithmetic arithmetic_of(const BlasCall& call, cudaDataType type) {
  const bool as_tf32 = type == CUDA_R_32F && call.math() == CUBLAS_TF32_TENSOR_OP_MATH;
  return {type == CUDA_R_64F, as_tf32, {}, type};
}

}  // namespace
}  // namespace host

using namespace host;

#define SIMT_GEMM(S, T, type)                                                                     \
  cublasStatus_t cublas##S##gemm(                                                                 \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* A, int lda, const T* B, int ldb, const T* beta, T* C, int ldc) {   \
    const BlasCall call(handle);                                                                  \
    return gemm(                                                                                  \
        call, {m, n, k}, {A, type, lda, op_A}, {B, type, ldb, op_B}, {C, type, ldc},              \
        arithmetic_of(call, type), alpha, beta);                                                  \
  }                                                                                               \
  cublasStatus_t cublas##S##gemmStridedBatched(                                                   \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* A, int lda, long long stride_A, const T* B, int ldb,               \
      long long stride_B, const T* beta, T* C, int ldc, long long stride_C, int count) {          \
    const BlasCall call(handle);                                                                  \
    return gemm(                                                                                  \
        call, {m, n, k}, {A, type, lda, op_A}, {B, type, ldb, op_B}, {C, type, ldc},              \
        arithmetic_of(call, type), alpha, beta, {count, stride_A, stride_B, stride_C});           \
  }                                                                                               \
  cublasStatus_t cublas##S##gemmBatched(                                                          \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k, \
      const T* alpha, const T* const A[], int lda, const T* const B[], int ldb, const T* beta,    \
      T* const C[], int ldc, int count) {                                                         \
    const BlasCall call(handle);                                                                  \
    return gemm(                                                                                  \
        call, {m, n, k}, {nullptr, type, lda, op_A}, {nullptr, type, ldb, op_B},                  \
        {nullptr, type, ldc}, arithmetic_of(call, type), alpha, beta,                             \
        {count, 0, 0, 0, reinterpret_cast<const void* const*>(A),                                 \
         reinterpret_cast<const void* const*>(B), reinterpret_cast<void* const*>(C)});            \
  }
SIMT_GEMM(S, float, CUDA_R_32F)
SIMT_GEMM(D, double, CUDA_R_64F)
SIMT_GEMM(H, __half, CUDA_R_16F)
#undef SIMT_GEMM

cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const void* beta, void* C, cudaDataType type_C, int ldc,
    cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm(
      BlasCall(handle), {m, n, k}, {A, type_A, lda, op_A}, {B, type_B, ldb, op_B}, {C, type_C, ldc},
      arithmetic_of(compute), alpha, beta);
}

cublasStatus_t cublasGemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const void* beta, void* C, cudaDataType type_C, int ldc,
    cudaDataType compute, cublasGemmAlgo_t) {
  return gemm(
      BlasCall(handle), {m, n, k}, {A, type_A, lda, op_A}, {B, type_B, ldb, op_B}, {C, type_C, ldc},
      arithmetic_of(compute_in(compute)), alpha, beta);
}

cublasStatus_t cublasSgemmEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const float* alpha, const void* A, cudaDataType type_A, int lda, const void* B,
    cudaDataType type_B, int ldb, const float* beta, void* C, cudaDataType type_C, int ldc) {
  return gemm(
      BlasCall(handle), {m, n, k}, {A, type_A, lda, op_A}, {B, type_B, ldb, op_B}, {C, type_C, ldc},
      arithmetic_of(CUBLAS_COMPUTE_32F), alpha, beta);
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, int k,
    const void* alpha, const void* A, cudaDataType type_A, int lda, long long stride_A,
    const void* B, cudaDataType type_B, int ldb, long long stride_B, const void* beta, void* C,
    cudaDataType type_C, int ldc, long long stride_C, int count, cublasComputeType_t compute,
    cublasGemmAlgo_t) {
  return gemm(
      BlasCall(handle), {m, n, k}, {A, type_A, lda, op_A}, {B, type_B, ldb, op_B}, {C, type_C, ldc},
      arithmetic_of(compute), alpha, beta, {count, stride_A, stride_B, stride_C});
}
