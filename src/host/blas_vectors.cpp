// cuBLAS's functions of vectors, and of a matrix and a vector. Sums are in fp64.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "host/blas.h"

namespace host {
namespace {

template <class T>
constexpr cudaDataType kType = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;

// A vector of which neighbours are `increment` elements apart; backwards if that is negative.
template <class T>
class Strided {
 public:
  Strided(T* data, int n, int increment)
      : first_(increment < 0 ? data + static_cast<std::int64_t>(1 - n) * increment : data),
        increment_(increment) {}
  T& operator[](std::int64_t i) const { return first_[i * increment_]; }

 private:
  T* first_;
  std::int64_t increment_;
};

template <class T>
cublasStatus_t axpy(
    BlasCall call, int n, const T* alpha, const T* x, int x_increment, T* y, int y_increment) {
  call.require_vector("x", x, n, x_increment, sizeof(T));
  call.require_vector("y", y, n, y_increment, sizeof(T));
  const auto factor = call.scalar(alpha, kType<T>);
  return call.runs([=] {
    const Strided from(x, n, x_increment);
    const Strided to(y, n, y_increment);
    for (int i = 0; i < n; ++i) to[i] = static_cast<T>(factor() * from[i] + to[i]);
  });
}

template <class T>
cublasStatus_t scal(BlasCall call, int n, const T* alpha, T* x, int increment) {
  call.require_vector("x", x, n, increment, sizeof(T));
  const auto factor = call.scalar(alpha, kType<T>);
  return call.runs([=] {
    const Strided values(x, n, increment);
    for (int i = 0; i < n; ++i) values[i] = static_cast<T>(factor() * values[i]);
  });
}

template <class T>
cublasStatus_t copy(BlasCall call, int n, const T* x, int x_increment, T* y, int y_increment) {
  call.require_vector("x", x, n, x_increment, sizeof(T));
  call.require_vector("y", y, n, y_increment, sizeof(T));
  return call.runs([=] {
    const Strided from(x, n, x_increment);
    const Strided to(y, n, y_increment);
    for (int i = 0; i < n; ++i) to[i] = from[i];
  });
}

template <class T>
cublasStatus_t swap(BlasCall call, int n, T* x, int x_increment, T* y, int y_increment) {
  call.require_vector("x", x, n, x_increment, sizeof(T));
  call.require_vector("y", y, n, y_increment, sizeof(T));
  return call.runs([=] {
    const Strided first(x, n, x_increment), second(y, n, y_increment);
    for (int i = 0; i < n; ++i) std::swap(first[i], second[i]);
  });
}

template <class T>
cublasStatus_t dot(
    BlasCall call, int n, const T* x, int x_increment, const T* y, int y_increment, T* result) {
  call.require_vector("x", x, n, x_increment, sizeof(T));
  call.require_vector("y", y, n, y_increment, sizeof(T));
  call.require(result != nullptr, "there is no result");
  return call.runs([=] {
    const Strided first(x, n, x_increment), second(y, n, y_increment);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(first[i]) * second[i];
    *result = static_cast<T>(sum);
  });
}

// The sum of term(element), and what becomes of it.
template <class T>
cublasStatus_t reduce(
    BlasCall call, int n, const T* x, int increment, T* result, double (*term)(double),
    double (*of_sum)(double)) {
  call.require_vector("x", x, n, increment, sizeof(T));
  call.require(result != nullptr, "there is no result");
  return call.runs([=] {
    const Strided values(x, n, increment);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += term(values[i]);
    *result = static_cast<T>(of_sum(sum));
  });
}

double square(double value) {
  return value * value;
}
double itself(double value) {
  return value;
}

// The first element, counted from 1, whose magnitude comes before all others; 0 if there is none.
template <class T, class Before>
cublasStatus_t first_of(
    BlasCall call, int n, const T* x, int increment, int* result, Before before) {
  call.require_vector("x", x, n, increment, sizeof(T));
  call.require(result != nullptr, "there is no result");
  return call.runs([=] {
    const Strided values(x, n, increment);
    int found = 0;
    for (int i = 1; i < n; ++i) {
      if (before(std::fabs(values[i]), std::fabs(values[found]))) found = i;
    }
    *result = n > 0 ? found + 1 : 0;
  });
}

template <class T>
cublasStatus_t gemv(
    BlasCall call, cublasOperation_t op, int m, int n, const T* alpha, const T* A, int lda,
    const T* x, int x_increment, const T* beta, T* y, int y_increment) {
  const bool transposed = op != CUBLAS_OP_N;
  const int rows = transposed ? n : m, columns = transposed ? m : n;
  call.require(m >= 0 && n >= 0, "m or n is negative");
  call.require_matrix("A", A, m, n, lda, sizeof(T));
  call.require_vector("x", x, columns, x_increment, sizeof(T));
  call.require_vector("y", y, rows, y_increment, sizeof(T));
  const auto factor = call.scalar(alpha, kType<T>), factor_y = call.scalar(beta, kType<T>);
  return call.runs([=] {
    const Strided from(x, columns, x_increment);
    const Strided to(y, rows, y_increment);
    for (std::int64_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        sum += static_cast<double>(A[transposed ? j + i * lda : i + j * lda]) * from[j];
      }
      const double before = factor_y() == 0 ? 0 : factor_y() * to[i];
      to[i] = static_cast<T>(factor() * sum + before);
    }
  });
}

template <class T>
cublasStatus_t ger(
    BlasCall call, int m, int n, const T* alpha, const T* x, int x_increment, const T* y,
    int y_increment, T* A, int lda) {
  call.require(m >= 0 && n >= 0, "m or n is negative");
  call.require_vector("x", x, m, x_increment, sizeof(T));
  call.require_vector("y", y, n, y_increment, sizeof(T));
  call.require_matrix("A", A, m, n, lda, sizeof(T));
  const auto factor = call.scalar(alpha, kType<T>);
  return call.runs([=] {
    const Strided left(x, m, x_increment), right(y, n, y_increment);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        T& a = A[i + j * lda];
        a = static_cast<T>(factor() * left[i] * right[j] + a);
      }
    }
  });
}

// One of the two matrices of geam: alpha op(A).
template <class T>
struct Term {
  std::function<double()> factor;
  const T* data;
  std::int64_t ld;
  bool transposed;
  double at(std::int64_t i, std::int64_t j) const {
    const double value = factor();
    return value == 0 ? 0 : value * data[transposed ? j + i * ld : i + j * ld];
  }
};

template <class T>
cublasStatus_t geam(
    BlasCall call, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n, const T* alpha,
    const T* A, int lda, const T* beta, const T* B, int ldb, T* C, int ldc) {
  call.require(m >= 0 && n >= 0, "m or n is negative");
  Term<T> first{call.scalar(alpha, kType<T>), A, lda, op_A != CUBLAS_OP_N};
  Term<T> second{call.scalar(beta, kType<T>), B, ldb, op_B != CUBLAS_OP_N};
  const auto require = [&](const char* name, const Term<T>& term) {
    if (!term.factor || term.data == nullptr) return;
    call.require_matrix(
        name, term.data, term.transposed ? n : m, term.transposed ? m : n,
        static_cast<int>(term.ld), sizeof(T));
  };
  require("A", first);
  require("B", second);
  call.require_matrix("C", C, m, n, ldc, sizeof(T));
  return call.runs([=] {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        C[i + j * ldc] = static_cast<T>(first.at(i, j) + second.at(i, j));
      }
    }
  });
}

}  // namespace
}  // namespace host

using namespace host;

#define SIMT_BLAS(S, s, T)                                                                        \
  cublasStatus_t cublas##S##axpy(                                                                 \
      cublasHandle_t handle, int n, const T* alpha, const T* x, int x_increment, T* y,            \
      int y_increment) {                                                                          \
    return axpy(BlasCall(handle), n, alpha, x, x_increment, y, y_increment);                      \
  }                                                                                               \
  cublasStatus_t cublas##S##scal(                                                                 \
      cublasHandle_t handle, int n, const T* alpha, T* x, int x_increment) {                      \
    return scal(BlasCall(handle), n, alpha, x, x_increment);                                      \
  }                                                                                               \
  cublasStatus_t cublas##S##copy(                                                                 \
      cublasHandle_t handle, int n, const T* x, int x_increment, T* y, int y_increment) {         \
    return host::copy(BlasCall(handle), n, x, x_increment, y, y_increment);                       \
  }                                                                                               \
  cublasStatus_t cublas##S##swap(                                                                 \
      cublasHandle_t handle, int n, T* x, int x_increment, T* y, int y_increment) {               \
    return host::swap(BlasCall(handle), n, x, x_increment, y, y_increment);                       \
  }                                                                                               \
  cublasStatus_t cublas##S##dot(                                                                  \
      cublasHandle_t handle, int n, const T* x, int x_increment, const T* y, int y_increment,     \
      T* result) {                                                                                \
    return dot(BlasCall(handle), n, x, x_increment, y, y_increment, result);                      \
  }                                                                                               \
  cublasStatus_t cublas##S##nrm2(                                                                 \
      cublasHandle_t handle, int n, const T* x, int x_increment, T* result) {                     \
    return reduce(BlasCall(handle), n, x, x_increment, result, square, std::sqrt);                \
  }                                                                                               \
  cublasStatus_t cublas##S##asum(                                                                 \
      cublasHandle_t handle, int n, const T* x, int x_increment, T* result) {                     \
    return reduce(BlasCall(handle), n, x, x_increment, result, std::fabs, itself);                \
  }                                                                                               \
  cublasStatus_t cublasI##s##amax(                                                                \
      cublasHandle_t handle, int n, const T* x, int x_increment, int* result) {                   \
    return first_of(BlasCall(handle), n, x, x_increment, result, std::greater<>());               \
  }                                                                                               \
  cublasStatus_t cublasI##s##amin(                                                                \
      cublasHandle_t handle, int n, const T* x, int x_increment, int* result) {                   \
    return first_of(BlasCall(handle), n, x, x_increment, result, std::less<>());                  \
  }                                                                                               \
  cublasStatus_t cublas##S##gemv(                                                                 \
      cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha, const T* A,      \
      int lda, const T* x, int x_increment, const T* beta, T* y, int y_increment) {               \
    return gemv(BlasCall(handle), op, m, n, alpha, A, lda, x, x_increment, beta, y, y_increment); \
  }                                                                                               \
  cublasStatus_t cublas##S##ger(                                                                  \
      cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_increment,           \
      const T* y, int y_increment, T* A, int lda) {                                               \
    return ger(BlasCall(handle), m, n, alpha, x, x_increment, y, y_increment, A, lda);            \
  }                                                                                               \
  cublasStatus_t cublas##S##geam(                                                                 \
      cublasHandle_t handle, cublasOperation_t op_A, cublasOperation_t op_B, int m, int n,        \
      const T* alpha, const T* A, int lda, const T* beta, const T* B, int ldb, T* C, int ldc) {   \
    return geam(BlasCall(handle), op_A, op_B, m, n, alpha, A, lda, beta, B, ldb, C, ldc);         \
  }
SIMT_BLAS(S, s, float)
SIMT_BLAS(D, d, double)
#undef SIMT_BLAS
