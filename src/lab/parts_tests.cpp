// Tests of the stages that multiply fp16 parts, with data that the parts hold and do not hold.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "experiments/experiment.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/stage.h"
#include "simulator/trace/trace.h"

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The variant of parts that another stands in for.
const model::Variant& proves_parts(const model::StageTable& table) {
  for (const model::Stage& stage : table.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (variant.stand_in != nullptr) return variant;
    }
  }
  FAIL("no variant has a stand-in");
  return table.stages.back().variants.front();
}

// The variants of parts that nothing stands in for.
std::vector<const model::Variant*> without_stand_in(const model::StageTable& table) {
  std::vector<const model::Variant*> found;
  for (const model::Stage& stage : table.stages) {
    if (stage.variants.empty()) continue;
    const model::Variant& variant = stage.variants.front();
    if (model::multiplies_parts(variant) && variant.stand_in == nullptr) found.push_back(&variant);
  }
  return found;
}

struct Outcome {
  int stood_in;
  model::Error error;
};

// On the CPU, compared with the reference.
lab::Measurement measure(
    const lab::Problem& p, const lab::Kernel& kernel,
    machine::Blocks blocks = machine::Blocks::kSample) {
  const lab::Reference reference = lab::compute_reference(p);
  lab::Means means{{model::find_gpu("H200"), blocks}};
  means.reference = &reference;
  lab::Floats result;
  return lab::measure(p, kernel, means, result);
}

Outcome outcome_of(
    const lab::Problem& p, const model::Variant& variant = proves_parts(experiment_table_plain())) {
  const model::StageTable& table = experiment_table_plain();
  int stood_in = 0;
  const lab::Measurement measured = measure(
      p, {.plain = lab::noting_stand_in(lab::gemm_of(table, variant), table, stood_in),
          .precision = model::kSplitFp16,
          .stood_in = &stood_in,
          .of_stand_ins = {model::kSplitTf32, model::kFp32}});
  CHECK(measured.stood_in == stood_in);
  return {stood_in, measured.error.value()};
}

// Uniform, but without numbers near 0, so that none is small beside the others.
lab::Problem problem_without_zeros(int M, int N, int K) {
  lab::Problem p = lab::random_problem({M, N, K}, 1, 0, 7);
  for (lab::Floats* matrix : {&p.A, &p.B}) {
    for (float& x : *matrix) x += x < 0 ? -0.01f : 0.01f;
  }
  return p;
}

// An exponent from -most to most.
int exponent(int i, int most) {
  return (i * 7919 + 13) % (2 * most + 1) - most;
}

void scale_rows(lab::Floats& matrix, int columns, int most) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix[i] = std::ldexp(matrix[i], exponent(static_cast<int>(i) / columns, most));
  }
}
void scale_columns(lab::Floats& matrix, int columns, int most) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    matrix[i] = std::ldexp(matrix[i], exponent(static_cast<int>(i) % columns, most));
  }
}

}  // namespace

TEST_CASE("fp16 parts hold ordinary matrices, and the error is that of fp32") {
  lab::Problem p = problem_without_zeros(70, 90, 200);
  SUBCASE("uniform") {}
  SUBCASE("rows of A and columns of B of very different size") {
    scale_rows(p.A, p.K, 30);
    scale_columns(p.B, p.N, 30);
  }
  SUBCASE("columns of A of different size, if 64 of them share it") {
    for (std::size_t i = 0; i < p.A.size(); ++i) {
      p.A[i] = std::ldexp(p.A[i], exponent(static_cast<int>(i) % p.K / 64, 40));
    }
  }
  SUBCASE("rows of zeros") {
    std::fill_n(p.A.begin() + 3 * p.K, 2 * p.K, 0.0f);
    for (int k = 0; k < p.K; ++k) p.B[k * p.N + 5] = 0;
  }
  SUBCASE("chunks of zeros") {
    std::fill_n(p.B.begin(), 64 * p.N, 0.0f);
  }
  SUBCASE("numbers with few bits") {
    for (float& x : p.A) x = std::round(8 * x);
    for (float& x : p.B) x = std::round(8 * x);
  }
  SUBCASE("one small number among large ones") {
    p.A[4 * p.K + 7] = 1e-9f;
  }
  const Outcome outcome = outcome_of(p);
  CHECK(!outcome.stood_in);
  CHECK(outcome.error.bound_ok);
  CHECK(outcome.error.relative < 2e-7);
}

TEST_CASE("another kernel stands in where fp16 parts would lose too much") {
  lab::Problem p = problem_without_zeros(70, 90, 200);
  SUBCASE("the same k is large in A and small in B") {
    for (std::size_t i = 0; i < p.A.size(); ++i) {
      p.A[i] = std::ldexp(p.A[i], exponent(static_cast<int>(i) % p.K, 20));
    }
    for (std::size_t i = 0; i < p.B.size(); ++i) {
      p.B[i] = std::ldexp(p.B[i], -exponent(static_cast<int>(i) / p.N, 20));
    }
  }
  SUBCASE("one huge number in a row of A, where B has a zero") {
    p.A[4 * p.K + 7] = 1e9f;
    for (int n = 0; n < p.N; ++n) p.B[7 * p.N + n] = 0;
  }
  SUBCASE("the identity times numbers of any size") {
    p = problem_without_zeros(200, 90, 200);
    for (int row = 0; row < p.M; ++row) {
      for (int k = 0; k < p.K; ++k) p.A[row * p.K + k] = row == k;
    }
    p.B[20 * p.N] = 1e-6f;
  }
  SUBCASE("few numbers that are not zero, and one is small") {
    for (std::size_t i = 0; i < p.A.size(); ++i) p.A[i] = i % 5 == 0 ? p.A[i] : 0;
    p.A[0] = 1e-7f;
  }
  SUBCASE("a row of very small numbers") {
    for (int k = 0; k < p.K; ++k) p.A[k] *= 1e-30f;
  }
  SUBCASE("a row of very large numbers") {
    for (int k = 0; k < p.K; ++k) p.A[k] *= 1e30f;
  }
  const Outcome outcome = outcome_of(p);
  CHECK(outcome.stood_in == 1);
  CHECK(outcome.error.bound_ok);
}

TEST_CASE("numbers that no parts hold are multiplied in fp32") {
  lab::Problem p = problem_without_zeros(70, 90, 200);
  SUBCASE("a column of denormal numbers") {
    for (int k = 0; k < p.K; ++k) p.B[k * p.N + 2] = 1e-42f;
  }
  SUBCASE("all of A below 2^-114, and a large B") {
    for (float& x : p.A) x *= 0x1p-120f;
    for (float& x : p.B) x *= 0x1p100f;
  }
  SUBCASE("one product") {
    p = problem_without_zeros(1, 1, 1);
    p.A[0] = 9.07e-40f;
    p.B[0] = 1.33e36f;
  }
  SUBCASE("an infinity in A") {
    p.A[17] = kInfinity;
  }
  SUBCASE("a NaN in B, and C is as fp32 makes it elsewhere") {
    p.B[17] = std::numeric_limits<float>::quiet_NaN();
  }
  const Outcome outcome = outcome_of(p);
  CHECK(outcome.stood_in == 2);
  CHECK(outcome.error.bound_ok);
}

TEST_CASE("tf32 parts are not forgiven what they lose of numbers below 2^-114") {
  lab::Problem p = problem_without_zeros(70, 90, 64);
  for (float& x : p.A) x *= 0x1p-130f;
  for (float& x : p.B) x *= 0x1p100f;
  for (const model::Stage& stage : experiment_table_plain().stages) {
    if (stage.variants.empty() ||
        stage.variants.front().multiplier != model::Multiplier::wgmma_3xtf32) {
      continue;
    }
    const lab::Gemm gemm = lab::gemm_of(experiment_table_plain(), stage.variants.front());
    CHECK(!measure(p, {.plain = gemm, .precision = stage.precision}).error.value().bound_ok);
  }
}

TEST_CASE("a stage for finite data is not checked with others, and says so") {
  lab::Problem p = problem_without_zeros(5, 6, 7);
  for (const float largest : {1e38f, std::numeric_limits<float>::max(), kInfinity}) {
    p.A[3] = largest;
    const auto unfit = [&](const model::Precision& precision) {
      const lab::Gemm gemm =
          lab::gemm_of(experiment_table_plain(), proves_parts(experiment_table_plain()));
      return measure(p, {.plain = gemm, .precision = precision}).unfit_data;
    };
    CHECK(unfit(model::kTf32) == (largest > 1e38f));
    CHECK(unfit(model::kSplitTf32) == (largest == kInfinity));
    CHECK(!unfit(model::kSplitFp16));
  }
}

TEST_CASE("doubts are about one product, and not about those after it") {
  lab::Problem with_infinity = problem_without_zeros(70, 90, 200);
  with_infinity.A[17] = kInfinity;
  const lab::Problem ordinary = problem_without_zeros(70, 90, 200);
  const lab::Problem without_depth = lab::random_problem({70, 90, 0}, 1, 0.5f, 7);
  for (int i = 0; i < 3; ++i) {
    CHECK(outcome_of(with_infinity).stood_in);
    for (const lab::Problem* p : {&without_depth, &ordinary}) {
      const Outcome outcome = outcome_of(*p);
      CHECK(!outcome.stood_in);
      CHECK(outcome.error.bound_ok);
    }
  }
  // A stage that does not judge neither asks for doubts nor uses up a word for them.
  for (const model::Variant* variant : without_stand_in(experiment_table_plain())) {
    CAPTURE(std::string(variant->kernel.name));
    CHECK(outcome_of(with_infinity).stood_in);
    const Outcome outcome = outcome_of(ordinary, *variant);
    CHECK(!outcome.stood_in);
    CHECK(outcome.error.bound_ok);
    CHECK(!outcome_of(ordinary).stood_in);
  }
}

TEST_CASE(
    "numbers from 64 on are too large for parts in one unit, and not for those in their own") {
  lab::Problem p = problem_without_zeros(70, 90, 200);
  int with_units = 0, without = 0;
  for (const float largest : {63.0f, 64.0f, 1e20f}) {
    p.A[17] = largest;
    for (const model::Variant* variant : without_stand_in(experiment_table_plain())) {
      CAPTURE(largest);
      CAPTURE(std::string(variant->kernel.name));
      CHECK(outcome_of(p, *variant).error.bound_ok == (variant->has_units || largest < 64));
      ++(variant->has_units ? with_units : without);
    }
  }
  CHECK(with_units == 3 * 1);
  CHECK(without == 3 * 2);
}

// Whatever the test on the data decides, no element may be wrong.
TEST_CASE("no matrices make fp16 parts wrong") {
  for (const int most : {4, 8, 16, 17, 18, 24, 60, 90}) {
    for (const int K : {most % 8 == 0 ? 1 : 63, most % 3 == 0 ? 65 : 130}) {
      CAPTURE(most);
      CAPTURE(K);
      lab::Problem p = lab::random_problem({40, 50, K}, 1, 0, 3);
      scale_columns(p.A, p.K, most);
      const Outcome columns = outcome_of(p);
      CHECK(columns.error.bound_ok);
      scale_rows(p.B, p.N, -most);
      CHECK(outcome_of(p).error.bound_ok);
    }
  }
}

TEST_CASE("the kernels that make fp16 parts have no hazard") {
  for (const int K : {16, 63, 132}) {
    for (const bool holds : {true, false}) {
      CAPTURE(K);
      CAPTURE(holds);
      lab::Problem p = problem_without_zeros(5, 134, K);
      if (!holds) p.A[3] = kInfinity;
      lab::Floats result = p.C;
      std::vector<machine::GlobalArray> arrays = p.arrays(result);
      for (machine::GlobalArray& array : arrays) array.all_written = false;  // not by these
      machine::Machine machine{model::find_gpu("H200")};
      machine.traces_aside = true;
      const model::StageTable& table = experiment_table_traced();
      const lab::Gemm gemm = lab::gemm_of(table, proves_parts(table));
      const model::Counts counts = trace::trace(machine, arrays, p.product_by(gemm, result));
      CHECK(counts.hazards.empty());
      CHECK(counts.blocks > p.M);
    }
  }
}

TEST_CASE("K is cut into parts where C has few results, and their sums are C") {
  const model::Gpu& gpu = *model::find_gpu("H200");
  int cut = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const auto& [M, N, K] : {std::array{16, 52, 2112}, {15, 66, 2101}}) {
      const lab::Problem p = lab::random_problem({M, N, K}, 1.5f, 0.5f, 7);
      if (stage.needs.hardware != model::kCopyEngine.hardware) continue;
      if (model::multiplies_parts(stage.variants.front())) continue;
      // The smallest tile.
      const auto smallest = std::min_element(
          stage.variants.begin(), stage.variants.end(),
          [](const model::Variant& a, const model::Variant& b) {
            return a.BM * a.BN < b.BM * b.BN;
          });
      const model::Variant& variant = *smallest;
      const model::ShareOut shares = model::share_out(variant, M, N, K, gpu.sms);
      CAPTURE(stage.name);
      CAPTURE(K);
      CHECK(shares.parts > 1);
      ++cut;
      const lab::Measurement measured = measure(
          p,
          {.traced = lab::gemm_of(stage_table_traced, variant, gpu.sms),
           .plain = lab::gemm_of(
               stage_table_plain,
               model::find_stage(stage_table_plain.stages, stage.number)->variants.front(),
               gpu.sms),
           .precision = stage.precision,
           .sample = lab::sample_of(p, variant, gpu.sms)},
          N < 64 ? machine::Blocks::kAll : machine::Blocks::kSample);
      REQUIRE(measured.error);
      CHECK(measured.error->bound_ok);
      CHECK(measured.counts->hazards.empty());
      CHECK(measured.counts->blocks == model::blocks_of(variant, M, N, K, gpu.sms));
    }
  }
  CHECK(cut == 2 * 4);
}
