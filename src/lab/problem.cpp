#include "lab/problem.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <numbers>
#include <optional>
#include <string>
#include <utility>

#include "cpu_reference.h"
#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "lab/npy.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "text/echoed.h"
#include "text/numbers.h"

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

ProblemSize shortened(ProblemSize sides) {
  constexpr int kLine = 32;  // floats in 128 bytes
  const auto shorter = [](int side) { return std::min(side, kSizeTraced + side % kLine); };
  return {shorter(sides.M), shorter(sides.N), shorter(sides.K)};
}

Gemm gemm_of(
    const model::StageTable& table, const model::Variant& variant, int sms, model::Makes makes) {
  return [=, run = table.run, &variant](auto... rest) { run({variant, sms, rest..., makes}); };
}

Gemm noting_stand_in(Gemm gemm, const model::StageTable& table, int& stood_in) {
  return
      [gemm = std::move(gemm), &table, &stood_in](
          int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
        gemm(M, N, K, alpha, A, B, beta, C);
        stood_in = table.stood_in();
      };
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

Launched Problem::launched(const model::Variant& variant) const {
  const int K_read = alpha == 0 ? 0 : K;
  const model::KernelRef& kernel =
      model::kernel_for(variant, N, K_read, A.data() + lead, B.data() + lead, C.data() + lead);
  const bool aligned = &kernel == &variant.kernel;
  return {kernel, aligned};
}

Problem random_problem(
    ProblemSize sides, float alpha, float beta, std::uint64_t seed, std::size_t lead) {
  Problem p{sides.M, sides.N, sides.K, alpha, beta, {}, {}, {}, lead};
  p.C = old_C(lead + p.results(), beta, seed);
  change_K(p, sides.K, seed);
  return p;
}

void change_K(Problem& p, int K, std::uint64_t seed) {
  p.K = K;
  p.A = random_floats(p.lead + static_cast<std::size_t>(p.M) * K, 3 * seed);
  p.B = random_floats(p.lead + static_cast<std::size_t>(K) * p.N, 3 * seed + 1);
}

Problem load_problem(const Request& request, bool on_gpu, Kept kept) {
  if (!request.a.empty()) return problem_of_files(request, on_gpu, kept);
  const ProblemSize sides = size_to_run(request, on_gpu);
  require_memory_for(request, on_gpu, kept, sides.M, sides.N, sides.K);
  Problem p = random_problem(sides, request.alpha, request.beta, request.seed);
  distribute(request.data, request.seed, p);
  return p;
}

namespace {

struct Reservation {
  void* begin;
  std::size_t bytes;
};
std::mutex reservations_lock;
std::map<void*, Reservation> reservations;  // key: the memory that was handed out

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

// The mixing function of SplitMix64 (Steele, Lea, Flood 2014): element i does not depend on i - 1.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

}  // namespace

void* allocate_guarded(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  constexpr std::size_t kGuard = std::size_t{8} << 30, kSmallGuard = std::size_t{1} << 16;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t aligned = rounded_up(bytes, kAlignment), usable = rounded_up(aligned, page);
  if (usable < bytes) throw std::bad_alloc();
  // If address space is limited (ulimit -v), the rest of the program needs it more.
  rlimit limit{};
  const bool rationed = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  for (const std::size_t guard : {rationed ? kSmallGuard : kGuard, kSmallGuard}) {
    const Reservation all{
        mmap(
            nullptr, usable + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
            0),
        usable + 2 * guard};
    if (all.begin == MAP_FAILED) continue;
    char* const middle = static_cast<char*>(all.begin) + guard;
    if (mprotect(middle, usable, PROT_READ | PROT_WRITE) != 0) {
      munmap(all.begin, all.bytes);
      break;
    }
    char* const memory = middle + usable - aligned;
    const std::lock_guard lock(reservations_lock);
    reservations[memory] = all;
    return memory;
  }
  throw std::bad_alloc();
}

void free_guarded(void* memory) {
  const std::lock_guard lock(reservations_lock);
  const auto found = reservations.find(memory);
  munmap(found->second.begin, found->second.bytes);
  reservations.erase(found);
}

Floats random_floats(std::size_t count, std::uint64_t seed) {
  constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15u;
  const std::uint64_t start = mix(seed * kGoldenGamma);
  Floats values(count);
#pragma omp parallel for
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits24 = mix(start + i * kGoldenGamma) >> 40;
    values[i] = static_cast<float>(bits24) * 0x1p-23f - 1.0f;
  }
  return values;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) && !std::isfinite(b[i])) continue;
    const double d = double{a[i]} - b[i];
    difference += d * d;
    norm += double{b[i]} * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

namespace {

// An exponent from -20 to 20 for a uniform number.
int exponent_of(float uniform) {
  constexpr int kMost = 20;
  return static_cast<int>(std::floor((uniform + 1) / 2 * (2 * kMost + 1))) - kMost;
}

// Box and Muller's: a normal number from two uniform ones.
float normal(float first, float second) {
  constexpr double kSmallest = 0x1p-24;  // half of the step between two uniform numbers
  const double radius = std::sqrt(-2 * std::log((double{first} + 1) / 2 + kSmallest));
  return static_cast<float>(radius * std::cos(std::numbers::pi * second));
}

// `along_rows`: the index in K of an element is its row, else its column.
void distribute(
    Data data, Floats& values, int columns, bool along_rows, const Floats& more,
    const Floats& of_k) {
#pragma omp parallel for
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t k = along_rows ? i / columns : i % columns;
    float& value = values[i];
    switch (data) {
      case Data::uniform:
        break;
      case Data::normal:
        value = normal(value, more[i]);
        break;
      case Data::positive:
        value = (value + 1) / 2;
        break;
      case Data::wide:
        value = std::ldexp(value, exponent_of(more[i]));
        break;
      case Data::wide_k:
        value = std::ldexp(value, exponent_of(of_k[k]));
        break;
      case Data::relu:
        value = std::max(value, 0.0f);
        break;
      case Data::spike:
        value = k % 64 != 0 ? std::ldexp(value, along_rows ? 0 : -40) : along_rows ? 0 : value;
        break;
    }
  }
}

}  // namespace

const char* name_of(Data data) {
  constexpr const char* kNames[] = {"uniform", "normal", "positive", "wide",
                                    "wide-k",  "relu",   "spike"};
  return kNames[static_cast<int>(data)];
}

void distribute(Data data, std::uint64_t seed, Problem& p) {
  // The seeds 3 * seed and the next two are those of A, B and C.
  const std::uint64_t fresh = ~(3 * seed);
  const auto more = [&](const Floats& values, std::uint64_t which) {
    const bool needed = data == Data::normal || data == Data::wide;
    return random_floats(needed ? values.size() : 0, fresh - which);
  };
  const Floats of_k = random_floats(data == Data::wide_k ? p.K : 0, fresh - 2);
  distribute(data, p.A, p.K, false, more(p.A, 0), of_k);
  distribute(data, p.B, p.N, true, more(p.B, 1), of_k);
}

namespace {

std::uint64_t fingerprint(const Problem& p) {
  std::uint64_t hash = text::kNoFingerprint;
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float element : *matrix) {
      hash = text::fingerprint(hash, std::bit_cast<std::uint32_t>(element));
    }
  }
  return hash;
}

// What a multiplier can make of the elements: each may be off by `step` / u_in, besides u_in of
// itself. Infinities and NaN are left out, so that the magnitudes are those of the finite products.
Floats in_steps(const Floats& matrix, double step_by_u) {
  Floats result = matrix;
  for (float& x : result) {
    const bool counts = std::isfinite(x) && x != 0;
    x = counts ? std::abs(x) + static_cast<float>(step_by_u) : 0;
  }
  return result;
}

void sum_magnitudes(const Problem& p, int terms, const Reference& reference, Progress& progress) {
  reference.terms = terms;
  reference.magnitude.resize(p.results());
  reference_magnitude(
      p.M, p.N, p.K, terms, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead,
      reference.magnitude.data(), [&](std::int64_t done) { progress.advance(done); });
}

}  // namespace

Reference compute_reference(const Problem& p) {
  // With random matrices, the bound for 512 products is several times as large as what rounding
  // usually does to K of them, whatever their precision. A sixteenth of K keeps it so for large K.
  const int terms = std::min(p.K, std::max(512, p.K / 16));
  Reference reference{std::vector<double>(p.results()), {}};
  for (const Floats* matrix : {&p.A, &p.B}) {
    for (const float x : *matrix) {
      const double size = std::isnan(x) ? INFINITY : std::abs(double{x});
      reference.largest = std::max(reference.largest, size);
    }
  }
  Progress progress("reference", static_cast<std::int64_t>(p.results()) * (p.K + terms));
  reference_gemm(
      p.M, p.N, p.K, p.alpha, p.A.data() + p.lead, p.B.data() + p.lead, p.beta,
      p.beta == 0 ? nullptr : p.C.data() + p.lead, reference.exact.data(),
      [&](std::int64_t done) { progress.advance(done); });
  sum_magnitudes(p, terms, reference, progress);
  if (terms < p.K) reference.factors = fingerprint(p);
  return reference;
}

model::Error compare(
    const Problem& p, const Reference& reference, const Floats& result, int rows,
    model::Precision precision) {
  const auto compared = [&](const std::vector<double>& magnitude) {
    return model::compare(
        rows, p.N, p.K, result.data() + p.lead, reference.exact.data(), magnitude.data(), p.beta,
        p.beta == 0 ? nullptr : p.C.data() + p.lead, precision, p.alpha);
  };
  model::Error error = compared(reference.magnitude);
  if (error.bound_ok) return error;
  const bool factors_are_known = reference.terms == p.K || fingerprint(p) == reference.factors;
  if (reference.terms < p.K && factors_are_known) {
    Progress progress("error bounds", static_cast<std::int64_t>(p.results()) * p.K);
    sum_magnitudes(p, p.K, reference, progress);
    error = compared(reference.magnitude);
  }
  const bool may_be_special = precision.step_in > 0 || !std::isfinite(error.first->expected);
  if (error.bound_ok || !may_be_special || !factors_are_known) return error;
  const double step_by_u = precision.step_in > 0 ? precision.step_in / precision.u_in : 0;
  const Floats A = in_steps(p.A, step_by_u), B = in_steps(p.B, step_by_u);
  std::vector<double> magnitude(p.results());
  reference_magnitude(
      p.M, p.N, p.K, p.K, p.alpha, A.data() + p.lead, B.data() + p.lead, magnitude.data());
  error = compared(magnitude);
  error.forgiven = error.bound_ok && precision.step_in > 0;
  return error;
}

}  // namespace lab
