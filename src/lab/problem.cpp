#include "lab/problem.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "gpu/gpu.h"
#include "lab/data.h"
#include "lab/memory.h"
#include "lab/npy.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace lab {

namespace {

constexpr int kSizeOnGpu = 4096;
constexpr int kSizeTraced = 256;

std::string shape(int rows, int columns) {
  return std::to_string(rows) + " x " + std::to_string(columns);
}

std::string shape(const NpyFile& npy) {
  return shape(npy.header.rows, npy.header.columns);
}

// Checks host and GPU memory before anything is allocated.
void require_memory_for(const Request& request, bool on_gpu, Kept kept, int M, int N, int K) {
  const double a_and_b = double(M) * K + double(K) * N, c = double(M) * N;
  const std::string what = request.size ? "--size " + std::to_string(*request.size)
                                        : "a product of " + shape(M, K) + " by " + shape(K, N);
  if (kept == Kept::matrices) {
    return require_memory(4 * (a_and_b + c), available_memory(), what, "A, B and C");
  }
  // The products on the CPU pack two times 256 columns of A and rows of B, and keep the old C if it
  // is read.
  const double packed = 2 * (double(M) + N) * std::min(K, 256);
  const int copies = request.beta == 0 ? 3 : 4;
  require_memory(
      4 * (a_and_b + copies * c) + 16 * c + 8 * packed, available_memory(), what,
      std::string("A, B, ") + (copies == 3 ? "three" : "four") + " C and the fp64 reference");
  if (on_gpu) {
    require_memory(4 * (a_and_b + c), gpu::free_bytes(), what, "A, B and C on the GPU");
  }
}

Floats old_C(std::size_t count, float beta, std::uint64_t seed) {
  return beta == 0 ? Floats(count, kCanary) : random_floats(count, 3 * seed + 2);
}

// The headers of all files are compared before any values are read, because files may be large.
Problem problem_of_files(const Request& request, bool on_gpu, Kept kept) {
  const NpyFile a = open_npy(request.a), b = open_npy(request.b);
  const int M = a.header.rows, N = b.header.columns, K = a.header.columns;
  if (K != b.header.rows) {
    throw model::Refusal(
        text::echoed(a.path) + " is " + shape(a) + " and " + text::echoed(b.path) + " is " +
        shape(b) + ": the columns of A must be the rows of B");
  }
  std::optional<NpyFile> c;
  if (!request.c.empty()) {
    c = open_npy(request.c);
    if (c->header.rows != M || c->header.columns != N) {
      throw model::Refusal(
          text::echoed(c->path) + " is " + shape(*c) + ", but A times B is " + shape(M, N));
    }
  }
  require_memory_for(request, on_gpu, kept, M, N, K);
  Problem p{M, N, K, request.alpha, request.beta, read_values(a), read_values(b), {}};
  p.C = c && p.beta != 0 ? read_values(*c) : old_C(p.results(), p.beta, request.seed);
  return p;
}

}  // namespace

ProblemSize problem_size(const Request& request, int otherwise) {
  const int side = request.size.value_or(otherwise);
  return {request.m.value_or(side), request.n.value_or(side), request.k.value_or(side)};
}

ProblemSize size_to_run(const Request& request, bool on_gpu) {
  return problem_size(request, on_gpu ? kSizeOnGpu : kSizeTraced);
}

Gemm gemm_of(const model::StageTable& table, const model::Variant& variant, int sms) {
  return [&table, &variant, sms](
             int M, int N, int K, float alpha, const float* A, const float* B, float beta,
             float* C) { table.run(variant, sms, M, N, K, alpha, A, B, beta, C); };
}

Gemm gemm_again_of(const model::StageTable& table, const model::Variant& variant, int sms) {
  return [&table, &variant, sms](
             int M, int N, int K, float alpha, const float* A, const float* B, float beta,
             float* C) { table.run_again(variant, sms, M, N, K, alpha, A, B, beta, C); };
}

std::vector<machine::GlobalArray> Problem::arrays(const Floats& result) const {
  const auto bytes = [this](const Floats& matrix) {
    return (matrix.size() - lead) * sizeof(float);
  };
  return {
      {"A", A.data() + lead, bytes(A)},
      {"B", B.data() + lead, bytes(B)},
      {"C", result.data() + lead, bytes(result), /*result=*/true, must_be_written()}};
}

std::function<void()> Problem::product_by(Gemm gemm, Floats& result) const {
  return [this, gemm = std::move(gemm), &result] {
    gemm(M, N, K, alpha, A.data() + lead, B.data() + lead, beta, result.data() + lead);
  };
}

Launched Problem::launched(const model::StageTable& table, const model::Variant& variant) const {
  const int K_read = alpha == 0 ? 0 : K;
  const model::KernelRef& kernel =
      table.kernel_for(variant, N, K_read, A.data() + lead, B.data() + lead, C.data() + lead);
  const bool aligned = &kernel == &variant.kernel;
  return {kernel, model::launched(variant, aligned), aligned};
}

Problem random_problem(
    ProblemSize sides, float alpha, float beta, std::uint64_t seed, std::size_t lead) {
  const std::size_t M = sides.M, N = sides.N, K = sides.K;
  Problem p{sides.M, sides.N, sides.K, alpha, beta, {}, {}, {}, lead};
  p.A = random_floats(lead + M * K, 3 * seed);
  p.B = random_floats(lead + K * N, 3 * seed + 1);
  p.C = old_C(lead + M * N, beta, seed);
  return p;
}

Problem load_problem(const Request& request, bool on_gpu, Kept kept) {
  if (!request.a.empty()) return problem_of_files(request, on_gpu, kept);
  const ProblemSize sides = size_to_run(request, on_gpu);
  require_memory_for(request, on_gpu, kept, sides.M, sides.N, sides.K);
  Problem p = random_problem(sides, request.alpha, request.beta, request.seed);
  distribute(request.data, request.seed, p);
  return p;
}

}  // namespace lab
