#include "lab/measure.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cpu_reference.h"
#include "lab/stage_tables.h"

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
  const Timing five = summary({5, 1, 4, 2, 3});
  CHECK(five.median_ms == 3);
  CHECK(five.quartile1_ms == 2);
  CHECK(five.quartile3_ms == 4);
  CHECK(five.min_ms == 1);
  CHECK(five.max_ms == 5);
  const Timing four = summary({1, 2, 3, 5});
  CHECK(four.median_ms == 2.5);
  CHECK(four.quartile1_ms == 1.75);
  CHECK(four.quartile3_ms == 3.5);
  const Timing one = summary({7});
  CHECK(one.quartile1_ms == 7);
  CHECK(one.quartile3_ms == 7);
}

TEST_CASE("a sample's counts equal those of all blocks, and the result is the same") {
  const Problem p = problem(128, 160, 40);
  Floats of_sample, of_all;
  const Measurement sample = measured(p, kernel(), kSample, of_sample);
  const Measurement all = measured(p, kernel(), kAll, of_all);
  CHECK(sample.counts->blocks == 20);
  CHECK(all.counts->blocks == 20);
  CHECK(sample.counts->blocks_traced < 20);
  CHECK(all.counts->blocks_traced == 20);
  CHECK(sample.counts->gmem_loads.accesses.min == 80);
  CHECK(sample.counts->gmem_loads.accesses.max == 80);
  CHECK(all.counts->gmem_loads.accesses.min == 80);
  CHECK(all.counts->gmem_loads.accesses.max == 80);
  CHECK(all.counts->gmem_loads.accesses.sum == 80 * 128 * 160);
  for (const Measurement& m : {sample, all}) {
    CHECK(m.counts->hazards.empty());
    CHECK(m.error->bound_ok);
    CHECK(!m.time);
  }
  CHECK(of_sample == of_all);
}

TEST_CASE("a kernel that computes the wrong product fails at its first wrong element") {
  for (const machine::Blocks blocks : {kSample, kAll}) {
    const Measurement m = measured(problem(100, 100, 16), kernel({.alpha = 1}), blocks);
    CHECK(m.counts->hazards.empty());
    CHECK(!m.error->bound_ok);
    REQUIRE(m.error->first);
    CHECK(m.error->first->row == 0);
    CHECK(m.error->first->column == 0);
    CHECK(m.error->first->value == doctest::Approx(2 * m.error->first->expected));
    CHECK(m.error->relative == doctest::Approx(1));
  }
}

TEST_CASE("a row that no thread writes is a hazard, whether its block is traced or not") {
  for (const machine::Blocks blocks : {kSample, kAll}) {
    const Measurement m = measured(problem(129, 160, 8), kernel({.rows = -1}), blocks);
    REQUIRE(m.counts->hazards.size() == 1);
    const model::Hazard& hazard = m.counts->hazards[0];
    CHECK(hazard.kind == model::HazardKind::never_written);
    CHECK(hazard.array == "C");
    CHECK(hazard.byte == 4 * 128 * 160);
    CHECK(hazard.extent == 160);
    CHECK(!m.error->bound_ok);
  }
}

TEST_CASE("a kernel that reads C with beta = 0 reads NaN") {
  const Measurement m = measured(problem(64, 64, 8), kernel({.beta = 1}), kSample);
  CHECK(!m.error->bound_ok);
  CHECK(std::isnan(m.error->first->value));
}

TEST_CASE("with K = 0, C is only scaled, and neither A nor B is read") {
  const Problem p = problem(96, 96, 0, 2.5f);
  Floats result;
  const Measurement m = measured(p, kernel(), kSample, result);
  CHECK(m.error->bound_ok);
  CHECK(m.counts->hazards.empty());
  for (const model::LineCounts& line : m.counts->lines) CHECK(line.array == "C");
  CHECK(result[4711] == 2.5f * p.C[4711]);
}

TEST_CASE("a sample alone does not change the rest of C, and only its elements are compared") {
  const Problem p = problem(128, 160, 24);
  for (const float alpha : {0.0f, 1.0f}) {
    Kernel traced_only = kernel({.alpha = alpha});
    traced_only.plain = {};
    Floats result;
    const Measurement m = measured(p, traced_only, kSample, result);
    CHECK(!m.error);
    const auto untouched = std::count_if(result.begin(), result.end(), is_canary);
    CHECK(untouched == (20 - m.counts->blocks_traced) * 32 * 32);
    CHECK(compare_written(p, result, model::kFp32).bound_ok == (alpha == 0));
  }
}

TEST_CASE("misaligned matrices are measured like all others") {
  const model::Stage& vectorized = stage_table_traced.stages[6];
  const model::Variant& variant = vectorized.variants[0];
  for (const std::size_t lead : {0, 1}) {
    CAPTURE(lead);
    const Problem p = random_problem({variant.BM, variant.BN, 16}, 1, 0, 7, lead);
    CHECK(p.launched(stage_table_traced, variant).aligned == (lead == 0));
    const Measurement m = measured(p, {.traced = gemm_of(stage_table_traced, variant)}, kAll);
    CHECK(m.error->bound_ok);
    CHECK(m.counts->hazards.empty());
  }
}

TEST_CASE("after annotation every access and every hazard has a line of its kernel") {
  const Problem p = problem(64, 64, 8);
  Measurement m = measured(p, kernel(), kAll);
  annotate(
      m, reinterpret_cast<const void*>(
             p.launched(stage_table_traced, coalesced().variants[0]).kernel.function));
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

}  // namespace lab
