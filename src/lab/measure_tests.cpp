#include <doctest/doctest.h>

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu_reference.h"
#include "lab/example_run.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "testing/pattern.h"
#include "testing/program.h"

namespace lab {

namespace {

// The ways in which a kernel goes wrong here: it is called with wrong arguments.
struct Mistake {
  int rows = 0;  // more than there are, or fewer
  float alpha = 0, beta = 0;
};

Gemm with(Mistake mistake, Gemm gemm) {
  return
      [=](int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
        gemm(M + mistake.rows, N, K, alpha + mistake.alpha, A, B, beta + mistake.beta, C);
      };
}

const model::Stage& coalesced() {
  return stage_table_traced.stages[2];
}

// The coalesced kernel (32 x 32 blocks) with that mistake in both copies.
Kernel kernel(Mistake mistake = {}) {
  return {
      .traced = with(mistake, gemm_of(stage_table_traced, coalesced().variants[0])),
      .plain = with(mistake, gemm_of(stage_table_plain, stage_table_plain.stages[2].variants[0]))};
}

Problem problem(int M, int N, int K, float beta = 0) {
  return random_problem({M, N, K}, 1, beta, 7);
}

constexpr machine::Blocks kSample = machine::Blocks::kSample, kAll = machine::Blocks::kAll;

Measurement measured(
    const Problem& p, const Kernel& kernel, machine::Blocks blocks, Floats& result) {
  const Reference reference = compute_reference(p);
  return measure(
      p, kernel, {.machine = {model::find_gpu("H200"), blocks}, .reference = &reference}, result);
}

Measurement measured(const Problem& p, const Kernel& kernel, machine::Blocks blocks) {
  Floats result;
  return measured(p, kernel, blocks, result);
}

bool is_canary(float value) {
  return std::memcmp(&value, &kCanary, sizeof value) == 0;
}

}  // namespace

TEST_CASE("a summary has the median and the quartiles of the times, in whatever order they come") {
  struct Expected {
    std::vector<double> times;
    double quartile1, median, quartile3;
  };
  for (const Expected& of :
       {Expected{{5, 1, 4, 2, 3}, 2, 3, 4}, {{1, 2, 3, 5}, 1.75, 2.5, 3.5}, {{7}, 7, 7, 7}}) {
    const Timing time = summary(of.times);
    CHECK(time.quartile1_ms == of.quartile1);
    CHECK(time.median_ms == of.median);
    CHECK(time.quartile3_ms == of.quartile3);
    CHECK(time.min_ms == *std::ranges::min_element(of.times));
    CHECK(time.max_ms == *std::ranges::max_element(of.times));
  }
}

TEST_CASE("all blocks, a sample and no traced block give the same result, and the same counts") {
  const Problem p = problem(128, 160, 40);
  Floats of_all;
  const Measurement all = measured(p, kernel(), kAll, of_all);
  CHECK(all.counts->blocks_traced == 20);
  CHECK(all.counts->gmem_loads.accesses.sum == 80 * 128 * 160);
  for (const bool is_traced : {true, false}) {
    Kernel plain = kernel();
    if (!is_traced) plain.traced = {};
    Floats C;
    const Measurement m = measured(p, plain, kSample, C);
    CHECK(m.counts.has_value() == is_traced);
    CHECK(m.error->bound_ok);
    CHECK(!m.time);
    CHECK(C == of_all);
    if (!is_traced) continue;
    CHECK(m.counts->blocks == 20);
    CHECK(m.counts->blocks_traced < 20);
    CHECK(m.counts->hazards.empty());
    for (const Measurement* one : {&m, &all}) {
      CHECK(one->counts->gmem_loads.accesses.min == 80);
      CHECK(one->counts->gmem_loads.accesses.max == 80);
    }
  }
}

// Of all lines together, so that the order of the lines does not count.
std::int64_t pieces_of_lines(const model::Counts& counts) {
  std::int64_t sum = 0;
  for (const model::LineCounts& line : counts.lines) sum += line.pieces + line.in_flight_bytes;
  return sum;
}

void check_equal(const model::Counts& counts, const model::Counts& expected) {
  for (model::Traffic model::Counts::*member : model::kTraffic) {
    CHECK((counts.*member).requests == (expected.*member).requests);
    CHECK((counts.*member).pieces == (expected.*member).pieces);
    CHECK((counts.*member).bank_conflicts == (expected.*member).bank_conflicts);
    CHECK((counts.*member).floats.min == (expected.*member).floats.min);
    CHECK((counts.*member).floats.max == (expected.*member).floats.max);
    CHECK((counts.*member).floats.sum == (expected.*member).floats.sum);
  }
  CHECK(counts.blocks == expected.blocks);
  for (std::int64_t model::Counts::*member : model::kSums) {
    CHECK(counts.*member == expected.*member);
  }
  CHECK(pieces_of_lines(counts) == pieces_of_lines(expected));
}

TEST_CASE("a long product is counted from short ones, for the first variant of every stage") {
  constexpr int kM = 768, kN = 512;  // whole tiles, at least three for each SM
  LongProduct shallow({}, {kM, kN, 140}), deep({}, {kM, kN, 300});
  model::Gpu gpu = *model::find_gpu("H200");
  gpu.sms = 4;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty()) continue;
    CAPTURE(stage.number);
    const model::Variant& variant = stage.variants[0];
    const bool is_deep = variant.BK > 16;
    LongProduct& counted = is_deep ? deep : shallow;
    const machine::Machine machine{&gpu, kSample, /*hazards=*/false};
    const model::Counts counts = counted.count(stage_table_traced, variant, machine);
    CHECK(counts.along_part_of_K);
    CHECK(counts.blocks_traced == 1);
    Floats C;
    const Kernel whole_K{.traced = gemm_of(stage_table_traced, variant, gpu.sms)};
    const Means first_block{{&gpu, machine::Blocks::kFirst, /*hazards=*/false}};
    const Problem& p = counted.with_K(is_deep ? 300 : 140);
    const model::Counts expected = *measure(p, whole_K, first_block, C).counts;
    check_equal(counts, expected);
  }
}

TEST_CASE("a long product whose tiles are all cut along K is counted from short ones") {
  model::Gpu gpu = *model::find_gpu("H200");
  gpu.sms = 4;
  const machine::Machine machine{&gpu, kSample, /*hazards=*/false};
  struct Cut {
    int stage, tiles, K;
    bool is_short;
  };
  for (const Cut& cut : {Cut{11, 2, 700, true}, Cut{11, 2, 520, false}, Cut{17, 1, 4200, true}}) {
    CAPTURE(cut.stage);
    const model::Variant& variant =
        model::find_kernel(
            stage_table_traced, cut.stage, cut.stage == 11 ? "16x256x16" : "64x128x32")
            .variant;
    LongProduct counted({}, {variant.BM - 1, cut.tiles * variant.BN, cut.K});
    REQUIRE(
        model::share_out(variant, variant.BM, cut.tiles * variant.BN, cut.K, gpu.sms).whole == 0);
    const model::Counts counts = counted.count(stage_table_traced, variant, machine);
    CHECK(counts.along_part_of_K == cut.is_short);
    const Problem& p = counted.with_K(cut.K);
    Floats C;
    const Kernel whole_K{
        .traced = gemm_of(stage_table_traced, variant, gpu.sms),
        .sample = sample_of(p, variant, gpu.sms)};
    check_equal(counts, *measure(p, whole_K, {machine}, C).counts);
  }
}

TEST_CASE("a long product is counted from few traced accesses, for every large variant") {
  LongProduct counted({}, {3072, 3072, 4096});
  std::int64_t accesses = 0;
  const auto add = [&](const machine::RequestedLaunch&, const model::Counts& traced) {
    for (model::Traffic model::Counts::*member : model::kTraffic) {
      accesses += (traced.*member).accesses.sum;
    }
    accesses += traced.mma_products / 1024;  // those of the tensor cores are no accesses of threads
  };
  const machine::Machine machine{
      .gpu = model::find_gpu("H200"), .blocks = kSample, .hazards = false, .launched = add};
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (variant.for_small) continue;  // their blocks have less to do
      CAPTURE(stage.number);
      CAPTURE(std::string(variant.name));
      accesses = 0;
      counted.count(stage_table_traced, variant, machine);
      CHECK(accesses > 1'000);
      CHECK(accesses < 650'000);
    }
  }
}

TEST_CASE("a long product whose tiles are cut at the edges is counted in a sample of its blocks") {
  LongProduct counted({}, {700, 500, 300});
  const machine::Machine machine{model::find_gpu("H200"), kSample};
  const model::Counts counts = counted.count(stage_table_traced, coalesced().variants[0], machine);
  CHECK(counts.blocks_traced == 5);
  CHECK(counts.gmem_loads.floats.max == 600);
  CHECK(counts.hazards.empty());
}

TEST_CASE("a kernel's mistakes are found, whether their blocks are traced or not") {
  for (const machine::Blocks blocks : {kSample, kAll}) {
    const Measurement wrong = measured(problem(100, 100, 16), kernel({.alpha = 1}), blocks);
    CHECK(wrong.counts->hazards.empty());
    CHECK(!wrong.error->bound_ok);
    CHECK(wrong.error->first.value().row == 0);
    CHECK(wrong.error->first->column == 0);
    CHECK(wrong.error->first->value == doctest::Approx(2 * wrong.error->first->expected));
    CHECK(wrong.error->relative == doctest::Approx(1));

    const Measurement unwritten = measured(problem(129, 160, 8), kernel({.rows = -1}), blocks);
    REQUIRE(unwritten.counts->hazards.size() == 1);
    const model::Hazard& hazard = unwritten.counts->hazards[0];
    CHECK(hazard.kind == model::HazardKind::never_written);
    CHECK(hazard.array == "C");
    CHECK(hazard.byte == 4 * 128 * 160);
    CHECK(hazard.extent == 160);
    CHECK(!unwritten.error->bound_ok);

    const Measurement reads_C = measured(problem(64, 64, 8), kernel({.beta = 1}), blocks);
    CHECK(!reads_C.error->bound_ok);
    CHECK(std::isnan(reads_C.error->first->value));
  }
}

TEST_CASE("a sample alone does not change the rest of C, which is not compared") {
  const Problem p = problem(128, 160, 24);
  Kernel traced_only = kernel();
  traced_only.plain = {};
  Floats result;
  const Measurement m = measured(p, traced_only, kSample, result);
  CHECK(!m.error);
  const auto untouched = std::count_if(result.begin(), result.end(), is_canary);
  CHECK(untouched == (20 - m.counts->blocks_traced) * 32 * 32);
}

TEST_CASE("after annotation every access and every hazard has a line of its kernel") {
  const Problem p = problem(64, 64, 8);
  Measurement m = measured(p, kernel(), kAll);
  annotate(m, p.launched(coalesced().variants[0]).kernel.function);
  REQUIRE(m.source_first > 0);
  CHECK(m.source.find("coalesced(") != std::string::npos);
  for (const model::LineCounts& line : m.counts->lines) {
    CHECK(line.line >= m.source_first);
    CHECK(line.line <= m.source_last);
  }
}

TEST_CASE("the CPU computes only the first rows of a long product, and says so") {
  const Problem p = problem(50, 40, 30);
  const Reference reference = compute_reference(p);
  Floats result;
  const Measurement part =
      measure_on_cpu(p, serial_gemm, 10 * 40 * 30, {.reference = &reference}, result);
  CHECK(part.time->partial);
  CHECK(part.error->bound_ok);
  CHECK(!is_canary(result[10 * 40 - 1]));
  CHECK(is_canary(result[10 * 40]));
  const Measurement whole = measure_on_cpu(p, serial_gemm, 1e9, {.reference = &reference}, result);
  CHECK(!whole.time->partial);
  CHECK(whole.time->repetitions == 5);
  CHECK(whole.error->bound_ok);
  CHECK(!is_canary(result.back()));
}

TEST_CASE("the error against cuBLAS covers the whole of C") {
  const Problem p = problem(33, 65, 8);
  Floats cublas, result;
  measured(p, kernel(), kAll, cublas);
  const Means means{.machine = {model::find_gpu("H200"), kAll}, .cublas = &cublas};
  CHECK(measure(p, kernel(), means, result).cublas_error == 0);
  CHECK(measure(p, kernel({.alpha = 1}), means, result).cublas_error.value() == doctest::Approx(1));
  CHECK(!measure_on_cpu(p, serial_gemm, 65 * 8, means, result).cublas_error);
}

TEST_CASE("elements that overflow in both results do not count as a difference") {
  const float infinity = HUGE_VALF;
  const std::vector<float> result = {1, infinity, NAN, 2}, other = {1, infinity, -infinity, 2};
  CHECK(relative_difference(result, other) == 0);
  const std::vector<float> finite = {1, 3, 3, 2};
  CHECK(!(relative_difference(result, finite) < 1));
}

namespace {

constexpr int kSide = 40, kDepth = 1500;  // of these, 512 are summed at first

Floats product_of(const Problem& p) {
  Floats C = p.C;
  openmp_gemm(p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
  return C;
}

}  // namespace

TEST_CASE("a right result of random matrices needs the magnitudes of 512 products only") {
  const Problem p = random_problem({kSide, kSide, kDepth}, 1.5f, 0.5f, 1);
  const Reference reference = compute_reference(p);
  CHECK(reference.terms == 512);
  const model::Error error = compare(p, reference, product_of(p), p.M);
  CHECK(error.bound_ok);
  CHECK(error.relative < 1e-5);
  CHECK(reference.terms == 512);
  CHECK(compute_reference(random_problem({1, 1, 16000}, 1, 0, 1)).terms == 1000);
  CHECK(compute_reference(random_problem({1, 1, 500}, 1, 0, 1)).terms == 500);
}

TEST_CASE("a result whose first products are 0 is compared with the bound of all products") {
  Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  for (int i = 0; i < kSide; ++i) std::fill_n(p.A.begin() + i * kDepth, 512, 0.0f);
  const Reference reference = compute_reference(p);
  CHECK(reference.magnitude.back() == 0);
  CHECK(compare(p, reference, product_of(p), p.M).bound_ok);
  CHECK(reference.terms == kDepth);
  CHECK(reference.magnitude.back() > 0);
}

TEST_CASE("a wrong result does not become right because A was overwritten") {
  Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  const Reference reference = compute_reference(p);
  Floats wrong = product_of(p);
  wrong[7] += 1;
  p.A[3] = std::numeric_limits<float>::infinity();
  CHECK(!compare(p, reference, wrong, p.M).bound_ok);
}

TEST_CASE("an element is right up to the bound of all products, and wrong beyond") {
  const Problem p = random_problem({kSide, kSide, kDepth}, 1, 0, 1);
  const Floats right = product_of(p);
  std::vector<double> magnitude(p.results());
  reference_magnitude(p.M, p.N, p.K, p.K, p.alpha, p.A.data(), p.B.data(), magnitude.data());
  constexpr int kWrong = 17 * kSide + 5;
  const double gamma = (kDepth + 2) * 0x1p-24 / (1 - (kDepth + 2) * 0x1p-24);
  for (const double part : {0.5, 0.99, 1.01}) {
    CAPTURE(part);
    const Reference reference = compute_reference(p);
    Floats C = right;
    C[kWrong] = static_cast<float>(reference.exact[kWrong] + part * gamma * magnitude[kWrong]);
    const model::Error error = compare(p, reference, C, p.M);
    CHECK(error.bound_ok == (part < 1));
    CHECK(reference.terms == kDepth);
    if (part > 1) CHECK(error.first.value().row == 17);
    if (part > 1) CHECK(error.first.value().column == 5);
  }
}

TEST_CASE("an overflow that all products explain passes, though the first 512 do not") {
  Problem p = random_problem({1, 1, kDepth}, 1, 0, 1);
  std::fill(p.A.begin(), p.A.end(), 0.0f);
  std::fill(p.B.begin(), p.B.end(), 1e30f);
  p.A[1000] = 1e30f;
  p.A[1001] = -1e30f;
  const Reference reference = compute_reference(p);
  const Floats C(1, std::numeric_limits<float>::quiet_NaN());
  const model::Error error = compare(p, reference, C, 1);
  CHECK(error.bound_ok);
  CHECK(error.overflowed == 1);
}

namespace {

// Of 1 x 1 products, whether C passes.
bool is_right(
    std::vector<float> A, std::vector<float> B, float beta, float old, float C,
    model::Precision precision = model::kFp32, float alpha = 1) {
  Problem p = random_problem({1, 1, static_cast<int>(A.size())}, alpha, beta, 1);
  std::copy(A.begin(), A.end(), p.A.begin());
  std::copy(B.begin(), B.end(), p.B.begin());
  p.C[0] = old;
  return compare(p, compute_reference(p), Floats(1, C), 1, precision).bound_ok;
}

}  // namespace

TEST_CASE("beside an infinity of A, B or C, the finite terms may overflow to the other one") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float C : {-kInf, kNan}) {
    CHECK(is_right({-kInf}, {1}, 10, 3e38f, C));
    CHECK(is_right({-kInf, 3e38f}, {1, 10}, 0, 0, C));
    CHECK(is_right({3e38f}, {10}, 1, -kInf, C));
  }
  CHECK(!is_right({-kInf}, {1}, 10, 3e38f, kInf));
  CHECK(!is_right({-kInf}, {1}, 10, 3e38f, 3e38f));
  CHECK(!is_right({-kInf}, {1}, 10, 3e37f, kNan));   // 3e38 is in range
  CHECK(!is_right({-kInf}, {1}, 10, -3e38f, kNan));  // the same infinity
  CHECK(!is_right({-kInf, 3e38f}, {1, 1}, 0, 0, kNan));
}

TEST_CASE("of an input that is too small for tf32's bits, tf32 may lose a step") {
  constexpr float kSmall = 1.05e-40f, kStep = 0x1p-136f, kAlpha = 1e30f;
  const float exact = kAlpha * kSmall;
  const model::Precision precision = model::kTf32;
  CHECK(is_right({kSmall}, {1}, 0, 0, kAlpha * (kSmall - kStep), precision, kAlpha));
  CHECK(is_right({1}, {kSmall}, 0, 0, kAlpha * (kSmall - kStep), precision, kAlpha));
  CHECK(!is_right({kSmall}, {1}, 0, 0, exact - 3 * kAlpha * kStep, precision, kAlpha));
  CHECK(!is_right({1e-30f}, {1}, 0, 0, 1.01e-30f, precision));
  CHECK(!is_right({kSmall, 1}, {0, 1}, 0, 0, 1.01f, precision));
  CHECK(!is_right({kSmall}, {1}, 0, 0, kAlpha * (kSmall - kStep), model::kFp32, kAlpha));
}

TEST_CASE("a kernel that does not fit on the GPU, or multiplies nothing, has no ceiling") {
  Run run = example::traced_run();
  run.rows[3].occupancy->blocks_per_sm = 0;
  CHECK(!ceilings(run, run.rows[3]).compiled);
  CHECK(!ceilings(run, run.rows[3]).written);
  CHECK(ceilings(run, run.rows[2]).compiled);
  run.alpha = 0;
  CHECK(!ceilings(run, run.rows[2]).compiled);
}

TEST_CASE("a speed is compared with the ceiling at its own size") {
  Run small = example::timed_run();
  const Row& row = small.rows[3];
  REQUIRE(small.M == 256);
  Run large = small;
  large.M = large.N = 8192;
  const double at_small = ceilings(small, row).compiled->tflops,
               at_large = ceilings(large, row).compiled->tflops;
  // 4 blocks of 128 x 128 keep 4 of 82 SMs busy, 4096 blocks 99.9 % of them.
  CHECK(at_large / at_small == doctest::Approx(4096.0 / (50 * 82) / (4.0 / 82)));
}

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_matrix(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> matrix(rows * columns);
  for (float& x : matrix) x = value(engine);
  return matrix;
}

// A random product and its result, one double per element, summed in the order of the definition.
// The magnitude is that of the first `terms` products.
struct Product {
  int M, N, K;
  float alpha, beta;
  std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2),
                     C = random_matrix(M, N, 3);
  std::vector<double> exact{}, magnitude{};

  Product(int M_, int N_, int K_, float alpha_, float beta_, int terms)
      : M(M_), N(N_), K(K_), alpha(alpha_), beta(beta_) {
    for (int at = 0; at < M * N; ++at) {
      double sum = 0, size = 0;
      for (int k = 0; k < K; ++k) {
        const double product = double(A[at / N * K + k]) * B[k * N + at % N];
        sum += product;
        if (k < terms) size += std::abs(product);
      }
      exact.push_back(alpha * sum + (beta == 0 ? 0 : double(beta) * C[at]));
      magnitude.push_back(std::abs(alpha) * size);
    }
  }

  // The largest |C - exact| of `gemm`, in units of the fp32 error bound; 1 is the bound.
  double worst_error(decltype(&serial_gemm) gemm) const {
    std::vector<float> result = C;
    gemm(M, N, K, alpha, A.data(), B.data(), beta, result.data());
    double worst = 0;
    for (std::size_t at = 0; at < C.size(); ++at) {
      const double bound = 0x1p-24 * 1.01 * (K + 2) * magnitude[at] +
                           0x1p-24 * 2.01 * std::abs(double(beta) * C[at]) + 1e-40;
      worst = std::max(worst, std::abs(result[at] - exact[at]) / bound);
    }
    return worst;
  }
};

// Sizes around the tiles (12 x 32 in fp32, 12 x 16 in fp64), the blocks (96 x 512 and 96 x 256)
// and the depth of 256.
constexpr ProblemSize kShapes[] = {
    {1, 1, 1},      {2, 3, 5},      {35, 79, 19},  {127, 129, 65}, {1, 300, 7},    {300, 1, 7},
    {11, 15, 255},  {12, 16, 256},  {13, 17, 257}, {191, 255, 3},  {192, 256, 4},  {193, 257, 5},
    {195, 511, 31}, {13, 513, 300}, {385, 40, 33}, {1, 1, 1000},   {97, 101, 103}, {7, 1031, 2},
    {5, 7, 0},      {400, 530, 9},  {64, 64, 520}, {1, 1200, 260}, {12, 32, 256},  {23, 33, 511},
    {25, 31, 513},  {96, 512, 8},
};

}  // namespace

TEST_CASE("on every shape both fp32 products stay in the bound, and the reference is exact") {
  for (const auto& [M, N, K] : kShapes) {
    for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, {-0.75f, 2.5f}, {0.0f, 3.0f}}) {
      CAPTURE(M);
      CAPTURE(N);
      CAPTURE(K);
      CAPTURE(alpha);
      const int terms = K == 520 ? 300 : K;
      const Product p(M, N, K, alpha, beta, terms);
      if (terms == K) CHECK(p.worst_error(serial_gemm) <= 1);
      if (terms == K) CHECK(p.worst_error(openmp_gemm) <= 1);
      std::vector<double> exact(p.C.size(), -1), magnitude(p.C.size(), -1);
      std::int64_t finished = 0;
      const auto count = [&](std::int64_t products) {
#pragma omp atomic
        finished += products;
      };
      reference_gemm(M, N, K, alpha, p.A.data(), p.B.data(), beta, p.C.data(), exact.data(), count);
      reference_magnitude(M, N, K, terms, alpha, p.A.data(), p.B.data(), magnitude.data(), count);
      double worst = 0;
      for (std::size_t at = 0; at < p.C.size(); ++at) {
        const double scale = p.magnitude[at] + std::abs(beta * p.C[at]) + 1e-300;
        worst = std::max(worst, std::abs(exact[at] - p.exact[at]) / scale);
        worst = std::max(worst, std::abs(magnitude[at] - p.magnitude[at]) / scale);
      }
      CHECK(worst <= 1e-13);
      if (alpha != 0) CHECK(finished == std::int64_t{M} * N * (K + terms));
    }
  }
}

TEST_CASE("of an empty product nothing is written, and of factors 0 nothing is read") {
  for (const auto gemm : {serial_gemm, openmp_gemm}) {
    float C[4] = {1, 2, 3, 4};
    gemm(0, 4, 3, 1, nullptr, nullptr, 2, C);
    gemm(4, 0, 3, 1, nullptr, nullptr, 2, C);
    CHECK(C[0] == 1);
    CHECK(C[3] == 4);
    gemm(2, 2, 0, 1, nullptr, nullptr, 2, C);
    CHECK(C[0] == 2);
    CHECK(C[3] == 8);
    const float A[] = {1, 2}, B[] = {3, 4};
    C[0] = kNan;
    gemm(1, 1, 2, 1, A, B, 0, C);
    CHECK(C[0] == 11);
    gemm(1, 1, 2, 0, nullptr, nullptr, 0.5f, C);
    CHECK(C[0] == 5.5f);
    C[0] = kNan;
    gemm(1, 1, 2, 0, nullptr, nullptr, 0, C);
    CHECK(C[0] == 0);
  }
  double exact = kNan, magnitude = kNan;
  reference_gemm(1, 1, 2, 0, nullptr, nullptr, 0, nullptr, &exact);
  reference_magnitude(1, 1, 2, 2, 0, nullptr, nullptr, &magnitude);
  CHECK(exact == 0);
  CHECK(magnitude == 0);
}

TEST_CASE("a NaN in A reaches its row, one in B its column, and no other element") {
  constexpr int kSize = 37, kRow = 11, kColumn = 16;
  std::vector<float> A = random_matrix(kSize, kSize, 1), B = random_matrix(kSize, kSize, 2);
  A[kRow * kSize + 5] = kNan;
  B[30 * kSize + kColumn] = std::numeric_limits<float>::infinity();
  B[31 * kSize + kColumn] = -std::numeric_limits<float>::infinity();
  A[3 * kSize + 30] = A[3 * kSize + 31] = 1;  // row 3 adds both infinities
  std::vector<float> serial(kSize * kSize), openmp(kSize * kSize);
  std::vector<double> exact(kSize * kSize);
  serial_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, serial.data());
  openmp_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, openmp.data());
  reference_gemm(kSize, kSize, kSize, 1, A.data(), B.data(), 0, nullptr, exact.data());
  for (int at = 0; at < kSize * kSize; ++at) {
    const int row = at / kSize, column = at % kSize;
    CAPTURE(row);
    CAPTURE(column);
    CHECK(std::isfinite(openmp[at]) == (row != kRow && column != kColumn));
    CHECK(std::isnan(openmp[at]) == std::isnan(serial[at]));
    CHECK(std::isnan(exact[at]) == std::isnan(serial[at]));
  }
  CHECK(std::isnan(openmp[3 * kSize + kColumn]));
}

TEST_CASE("the number of threads does not change any bit of the result") {
  constexpr int M = 401, N = 531, K = 1100;
  const std::vector<float> A = random_matrix(M, K, 1), B = random_matrix(K, N, 2);
  const int before = omp_get_max_threads();
  std::vector<float> first_C;
  std::vector<double> first_exact;
  for (int threads : {1, 2, 3, 7}) {
    omp_set_num_threads(threads);
    std::vector<float> C = random_matrix(M, N, 3);
    std::vector<double> exact(M * N);
    openmp_gemm(M, N, K, 1.5f, A.data(), B.data(), 0.5f, C.data());
    reference_gemm(M, N, K, 1.5f, A.data(), B.data(), 0, nullptr, exact.data());
    if (threads == 1) {
      first_C = C;
      first_exact = exact;
    }
    CHECK(std::memcmp(C.data(), first_C.data(), C.size() * sizeof(float)) == 0);
    CHECK(std::memcmp(exact.data(), first_exact.data(), exact.size() * sizeof(double)) == 0);
  }
  omp_set_num_threads(before);
}

TEST_CASE("the serial loop computes only the requested rows") {
  const std::vector<float> A = random_matrix(6, 3, 1), B = random_matrix(3, 5, 2);
  std::vector<float> whole(30), part(30, 7);
  serial_gemm(6, 5, 3, 1, A.data(), B.data(), 0, whole.data());
  serial_gemm(2, 5, 3, 1, A.data() + 2 * 3, B.data(), 0, part.data() + 2 * 5);
  for (int at = 0; at < 30; ++at) CHECK(part[at] == (at / 5 == 2 || at / 5 == 3 ? whole[at] : 7));
}

TEST_CASE("a bar shows the name and the part that is done, and erases itself at the end") {
  const testing::Folder folder;
  std::FILE* const out = std::fopen((folder / "screen").c_str(), "w");
  const auto shown = [&] { return testing::contents(folder / "screen"); };
  {
    Progress bar("parts", 4000, out), empty("empty", 0, out);
    bar.advance(0);
    empty.advance(1);
    CHECK(shown().empty());  // short work shows none
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 750; ++i) bar.advance(1);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // longer than between two bars
    CHECK(testing::all_matches(shown(), "parts").size() < 10);    // it is drawn rarely
    bar.name("coalesced");
  }
  std::fclose(out);
  CHECK(testing::contains(shown(), "\r\033[Kcoalesced [######################........]  75 %, "));
  CHECK(shown().ends_with("\r\033[K"));
}

}  // namespace lab
