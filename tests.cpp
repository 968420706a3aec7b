// Tests of the whole program: every stage on every available machine, its counts, and the program
// itself. The tests of each room are in its folder, as *_tests.cpp.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/experiment.h"
#include "lab/gpu/gpu.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "model/ceiling.h"
#include "model/compiled_kernel.h"
#include "model/stage.h"
#include "show/report/known.h"
#include "simulator/machine/memory.h"
#include "simulator/trace/audit.h"
#include "simulator/trace/source_lines.h"
#include "simulator/trace/trace.h"
#include "testing/pattern.h"
#include "testing/program.h"

// The GPU's copy of the table if nvcc compiled one; else null.
extern const model::StageTable stage_table __attribute__((weak));

namespace {

struct Case {
  int M, N, K;
  float alpha = 1, beta = 0;
  int misaligned_floats = 0;  // distance of A, B and C from a 256-byte boundary
  int sms = 0;                // among which tiles are shared out; with 0, none is cut
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.M << " x " << c.N << " x " << c.K << ", alpha " << c.alpha << ", beta " << c.beta
             << ", " << c.misaligned_floats << " floats off, " << c.sms << " SMs";
}

// `measured`: as the program does without a GPU. A sample of the blocks is traced, and the plain
// copy computes the rest.
enum class Where { plain, traced, measured, gpu };

// The tables with every variant: the stages' own, and those of the experiments.
const model::StageTable& table_of(Where where) {
  if (where == Where::gpu) return experiment_table();
  return where == Where::plain ? experiment_table_plain() : experiment_table_traced();
}

const model::Gpu& limits() {
  return *model::find_gpu("H200");
}

lab::Problem problem_of(const Case& c) {
  return lab::random_problem({c.M, c.N, c.K}, c.alpha, c.beta, 1, c.misaligned_floats);
}

// Traces all blocks. With a sample, they run in order. The last block to arrive at a cut tile is
// then always the same.
model::Counts traced(
    const lab::Problem& p, const model::Variant& variant, int sms, bool hazards,
    lab::Floats& result) {
  const lab::Kernel kernel{
      .traced = lab::gemm_of(table_of(Where::traced), variant, sms),
      .sample = lab::sample_of(p, variant, sms)};
  return *lab::measure(p, kernel, {{&limits(), machine::Blocks::kAll, hazards}}, result).counts;
}

// Of all blocks. The result is not compared, and hazards are looked for only where a test asks.
model::Counts counts_of(const model::Variant& variant, const Case& c, bool hazards = false) {
  lab::Floats result;
  return traced(problem_of(c), variant, c.sms, hazards, result);
}

struct Outcome {
  model::Error error;
  model::Counts counts;
};

// The result is compared as the stage rounds.
Outcome multiply(
    Where where, const model::Stage& stage, const model::Variant& variant, const Case& c) {
  const lab::Problem p = problem_of(c);
  const lab::Gemm gemm = lab::gemm_of(table_of(where), variant, c.sms);
  const model::Precision precision = precision_of(stage, variant);
  lab::Floats result = p.C;
  model::Counts counts;
  if (where == Where::traced) {
    counts = traced(p, variant, c.sms, /*hazards=*/true, result);
  } else if (where == Where::measured) {
    const model::StageTable& plain = experiment_table_plain();
    const lab::Kernel kernel{
        .traced = gemm,
        .plain = lab::gemm_of(plain, find_kernel(plain, stage.number, variant.name).variant, c.sms),
        .precision = precision,
        .sample = lab::sample_of(p, variant, c.sms)};
    const lab::Reference reference = lab::compute_reference(p);
    lab::Means means{{&limits(), machine::Blocks::kSample}};
    means.reference = &reference;
    const lab::Measurement measured = lab::measure(p, kernel, means, result);
    return {measured.error.value_or(model::Error{}), *measured.counts};
  } else if (where == Where::plain) {
    counts.hazards = machine::run({&limits()}, p.product_by(gemm, result));
  } else {
    lab::OnGpu(p).compute(gemm, result);
  }
  return {lab::compare(p, lab::compute_reference(p), result, p.M, precision), counts};
}

void check_right(
    Where where, const model::Stage& stage, const model::Variant& variant, const Case& c) {
  CAPTURE(std::string(variant.kernel.name));
  CAPTURE(c);
  const Outcome outcome = multiply(where, stage, variant, c);
  CHECK(outcome.error.bound_ok);
  CHECK(outcome.counts.hazards.empty());
}

template <class Visit>
void for_each_variant(const model::StageTable& table, Visit visit) {
  for (const model::Stage& stage : table.stages) {
    for (const model::Variant& variant : stage.variants) visit(stage, variant);
  }
}

// Why that machine cannot run the stage's kernels; empty if it can.
std::string why_not_run(Where where, const model::Stage& stage) {
  return where == Where::gpu ? model::why_not_run(stage, *gpu::find().found) : "";
}

// Every variant that the machine can run.
template <class Visit>
void for_each_variant(Where where, Visit visit) {
  for_each_variant(table_of(where), [&](const model::Stage& stage, const model::Variant& variant) {
    if (why_not_run(where, stage).empty()) visit(stage, variant);
  });
}

// All stages of the ladder must be among those that were checked, except those that the machine
// cannot run. For a GPU, a message names these.
void check_ladder_is_among(const std::set<int>& checked, Where where) {
  int kernels = 0, ran = 0;
  std::string others;
  for (const model::Stage& stage : stage_table_plain.stages) {
    if (stage.variants.empty()) continue;
    ++kernels;
    const std::string why = why_not_run(where, stage);
    CAPTURE(stage.number);
    CHECK((checked.count(stage.number) == 1) == why.empty());
    if (why.empty()) {
      ++ran;
    } else {
      others += "; stage " + std::to_string(stage.number) + " " + why;
    }
  }
  if (where == Where::gpu) MESSAGE(ran, " of ", kernels, " stages ran on the GPU", others);
}

// What depends on the code alone: next to no work, one row or column of C, no K, no A and B.
std::vector<Case> special_cases() {
  return {
      {1, 1, 1},
      {35, 79, 19, -0.5f, 2.5f},
      {1, 300, 7, 1, 0, 2},
      {300, 1, 7, 1.5f, 1},
      {64, 64, 0},
      {33, 17, 0, 1, 2.5f},
      {65, 36, 20, 0},
      {65, 36, 20, 0, 2.5f},
      {0, 5, 5},
      {5, 0, 5},
      {68, 132, 36, 1, 0, 1}};
}

// What depends on the tile: one less in each direction, the tile, and more, with rows that are
// multiples of 16 bytes and others, with several alpha and beta. In the last two, K goes once
// around a ring of tiles.
std::vector<Case> cases_of_tile(const model::Variant& v) {
  const int BK = std::max(v.BK, 4), around = (v.pipeline + 2) * BK;
  return {
      {v.BM - 1, v.BN + 4, BK + 4, 1.5f, 2.5f},
      {v.BM + 1, v.BN - 1, BK - 1, -0.5f, 0, 1},
      {v.BM, v.BN - 4, around - 4},
      {v.BM - 1, v.BN, around + 1, 1, 1}};
}

// Every second shape is a multiple of four, so that the float4 kernels run as often as the others.
// Every third is deep along K, so that tiles are cut into many slices on the SMs of any GPU, by the
// variants that do that.
std::vector<Case> random_cases(int count, unsigned seed, int most = 160) {
  std::mt19937 random(seed);
  const auto upto = [&](unsigned n) { return static_cast<int>(random() % (n + 1)); };
  std::vector<Case> cases;
  for (int i = 0; i < count; ++i) {
    const int unit = i % 2 == 0 ? 4 : 1;
    const auto side = [&](int end) { return upto(end / unit) * unit; };
    const bool is_deep = i % 3 == 0;
    const int M = side(is_deep ? most * 5 / 8 : most), N = side(is_deep ? most * 5 / 8 : most);
    const std::span<const model::Gpu> gpus = model::known_gpus();
    const int sms = upto(3) == 0 ? upto(9) : gpus[upto(gpus.size() - 1)].sms;
    cases.push_back({M, N, side(is_deep ? 1000 : most), upto(4) * 0.5f, upto(2) * 1.25f, 0, sms});
  }
  return cases;
}

// A stage's other variants are its first one's code with other tile sizes.
bool has_own_code(const model::Stage& stage, const model::Variant& variant) {
  return std::string_view(variant.name) == stage.variants[0].name || variant.contrast;
}

void check_all_variants(Where where) {
  std::set<int> checked;
  for_each_variant(where, [&](const model::Stage& stage, const model::Variant& variant) {
    std::vector<Case> cases = cases_of_tile(variant);
    if (has_own_code(stage, variant)) {
      for (const Case& c : special_cases()) cases.push_back(c);
    } else {
      cases.pop_back();
    }
    for (const Case& c : cases) check_right(where, stage, variant, c);
    checked.insert(stage.number);
  });
  check_ladder_is_among(checked, where);
}

// Products whose tiles, or some of them, are cut along K: all kinds of edges, few and many slices,
// whole tiles beside cut ones, and a tile for each of many SMs.
std::vector<Case> cut_cases(const model::Variant& v) {
  std::vector<Case> cases = {
      {v.BM, v.BN, 256, 1, 0, 0, 3},
      {v.BM, v.BN, 216, 1, 1, 0, 82},
      {v.BM - 3, v.BN - 5, 203, 1.5f, 0, 0, 5},
      {v.BM + 1, v.BN, 212, 1, 0, 1, 7},
      {2 * v.BM - 4, 2 * v.BN - 8, 300, 1, 2.5f, 0, 3},
      {3 * v.BM + 1, v.BN + 7, 451, -0.5f, 2.5f, 2, 5},
      {1, 1, 299, 1, 0, 0, 82},
      {2, 300, 333, 0.5f, 1, 3, 82}};
  std::mt19937 random(11);
  const auto upto = [&](int n) { return 1 + static_cast<int>(random() % n); };
  for (int tried = 0; cases.size() < 11; ++tried) {
    REQUIRE(tried < 1000);  // a variant that no such product cuts
    const int sms = std::array{3, 5, 7, 82}[random() % 4];
    const Case c{upto(2 * v.BM), upto(2 * v.BN), 200 + upto(200), 1, upto(2) - 1.0f, 0, sms};
    if (model::share_out(v, c.M, c.N, c.K, c.sms).slices > 1) cases.push_back(c);
  }
  for (Case& c : cases) {
    const auto cuts = [&] { return model::share_out(v, c.M, c.N, c.K, c.sms).slices > 1; };
    if (!cuts()) c.K += 32 * v.BK;
    CAPTURE(c);
    REQUIRE(cuts());
  }
  return cases;
}

// C has more tiles than that many SMs, and edges.
Case several_tiles(const model::Variant& variant, int sms) {
  const int rows = variant.for_small ? 2 : 1;
  return {rows * variant.BM - 4, 3 * variant.BN - 4, 2 * variant.BK + 4, 1.5f, 2.5f, 0, sms};
}

// As model::slices_of_K, but cuts a short K too, and always: nobody waits for a long K.
model::ShareOut slices_of_short_K(int tiles, int k_tiles, int sms) {
  const int slices = std::max(2, sms / tiles), depth = (k_tiles + slices - 1) / slices;
  return {0, (k_tiles + depth - 1) / depth, depth};
}

// From a table, or those that a machine can run.
template <class From, class Visit>
void for_each_cutting_variant(const From& from, Visit visit) {
  int visited = 0;
  for_each_variant(from, [&](const model::Stage& stage, model::Variant variant) {
    if (variant.share_out == nullptr) return;
    if (variant.share_out == model::slices_of_K) variant.share_out = slices_of_short_K;
    visit(stage, variant);
    ++visited;
  });
  CHECK(visited > 0);
}

// From block to block; else one more kernel adds them up.
bool hands_on_sums(const model::Variant& variant) {
  return variant.share_out != nullptr && variant.share_out != slices_of_short_K &&
         variant.share_out != model::slices_of_K;
}

// `count` random shapes in total, distributed over the variants in turn.
void check_random_shapes(Where where, int count, int most = 160) {
  std::vector<std::pair<const model::Stage*, const model::Variant*>> variants;
  for_each_variant(where, [&](const model::Stage& stage, const model::Variant& variant) {
    variants.push_back({&stage, &variant});
  });
  std::vector<Case> cases = random_cases(count, 20260, most);
  for (int i = 0; i < count; ++i) {
    const auto& [stage, variant] = variants[i % variants.size()];
    if (!hands_on_sums(*variant)) cases[i].K %= most;
    check_right(where, *stage, *variant, cases[i]);
  }
}

lab::Row row_of(
    const model::Stage& stage, const model::Variant& variant, const model::Counts& counts) {
  lab::Row row;
  row.stage = &stage;
  row.variant = &variant;
  row.counts = counts;
  return row;
}

report::PredictedCounts predicted(
    const model::Stage& stage, const model::Variant& variant, const Case& c,
    const model::Counts& counts) {
  const bool aligned = c.misaligned_floats == 0;
  lab::Row row = row_of(stage, variant, counts);
  row.aligned = aligned;
  lab::Run run{};
  run.M = c.M;
  run.N = c.N;
  run.K = c.K;
  run.alpha = c.alpha;
  run.beta = c.beta;
  run.gpu.sms = c.sms;
  return report::predicted(run, row).value();
}

void check_every_thread(const model::PerThread& counted, double predicted, const char* what) {
  CAPTURE(std::string(what));
  CHECK(counted.min == predicted);
  CHECK(counted.max == predicted);
}

// Of the thread that does most of each, or of every thread.
void check_formulas(
    const model::Counts& counts, const report::PredictedCounts& expected, bool every = false) {
  for (const report::PerThreadCount& count : report::kPerThread) {
    CAPTURE(std::string(count.path));
    const double predicted = expected[&count - report::kPerThread];
    CHECK(count.traced(counts).max == predicted);
    if (every) CHECK(count.traced(counts).min == predicted);
  }
}

using testing::Output, testing::gemm_steps;

void check_refused(const std::string& arguments, const std::string& because) {
  CAPTURE(arguments);
  const Output output = gemm_steps(arguments);
  CAPTURE(output.err);
  CHECK(output.exit_code == 2);
  CHECK(output.out.empty());
  CHECK(output.err.find(because) != std::string::npos);
  CHECK(std::count(output.err.begin(), output.err.end(), '\n') == 1);
}

bool gpu_is_here() {
  return &stage_table != nullptr && gpu::find().found;
}

}  // namespace

TEST_CASE(
    "every stage and variant is right at sizes around a tile, at K = 0, alpha = 0, and any beta") {
  check_all_variants(Where::plain);
}

TEST_CASE("every stage and variant is right on random shapes") {
  check_random_shapes(Where::plain, 120);
}

TEST_CASE("the traced copy computes the same products") {
  // The other variants are traced below, where they are looked at for hazards.
  for_each_variant(Where::traced, [](const model::Stage& stage, const model::Variant& variant) {
    if (!has_own_code(stage, variant)) {
      check_right(Where::traced, stage, variant, cases_of_tile(variant)[0]);
    }
  });
  check_random_shapes(Where::traced, 40, 60);
}

TEST_CASE("every variant is right as the program measures it, whatever runs in its place") {
  for_each_variant(Where::measured, [](const model::Stage& stage, const model::Variant& variant) {
    // With tiles to cut, blocks hand sums to one another.
    if (!hands_on_sums(variant)) return;
    check_right(Where::measured, stage, variant, {24, 86, 260, 1, 0, 0, 132});
    check_right(Where::measured, stage, variant, {70, 131, 403, 1, 1, 0, 40});
  });
  check_random_shapes(Where::measured, 60, 80);
}

TEST_CASE("no stage has a hazard at any shape") {
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const model::Variant& variant : stage.variants) {
      if (!has_own_code(stage, variant)) continue;
      std::vector<Case> cases = cases_of_tile(variant);
      cases[0] = {33, 17, 0, 1, 2.5f};
      for (const Case& c : cases) check_right(Where::traced, stage, variant, c);
    }
  }
}

TEST_CASE("a variant that cuts tiles is right where it does, launch after launch") {
  for_each_cutting_variant(stage_table_plain, [&](const auto& stage, const auto& variant) {
    for (const Case& c : cut_cases(variant)) {
      // Sums that no block hands on are added up by one kernel, whatever the variant.
      if (!hands_on_sums(variant) && !variant.for_small) continue;
      check_right(Where::plain, stage, variant, c);
      // The second launch finds the sums and the counters as the first one left them. A kernel of
      // its own has no counters, and sums of the case before.
      if (hands_on_sums(variant)) check_right(Where::plain, stage, variant, c);
    }
  });
}

TEST_CASE("the traced copy computes cut tiles without a hazard, launch after launch") {
  for_each_cutting_variant(stage_table_traced, [&](const auto& stage, const auto& variant) {
    if (!variant.for_small) return;  // the counts of the large tile are compared below
    for (const Case& c : cut_cases(variant)) {
      const bool is_large = c.M > variant.BM + 1 || c.N > variant.BN + 1 || c.K > 216;
      if (is_large) continue;  // a traced launch takes its time
      check_right(Where::traced, stage, variant, c);
      check_right(Where::traced, stage, variant, c);
    }
  });
}

TEST_CASE("the bits of C do not depend on the order of the blocks") {
  for_each_cutting_variant(stage_table_plain, [](const auto&, const auto& variant) {
    if (!hands_on_sums(variant)) return;
    for (const Case& c : cut_cases(variant)) {
      if (!variant.for_small && c.sms < 82) continue;  // enough of the large tile, which takes long
      CAPTURE(std::string(variant.kernel.name));
      CAPTURE(c);
      const lab::Problem p =
          lab::random_problem({c.M, c.N, c.K}, c.alpha, c.beta, 1, c.misaligned_floats);
      const lab::Gemm gemm = lab::gemm_of(stage_table_plain, variant, c.sms);
      machine::Machine machine{&limits()};
      lab::Floats expected = p.C;
      machine::run(machine, p.product_by(gemm, expected));
      for (unsigned seed = 0; seed < 4; ++seed) {
        bool shuffled = false;
        machine.order = [&](machine::Extent grid) {
          std::vector<std::int64_t> order(grid.volume());
          std::iota(order.begin(), order.end(), 0);
          // The first order is the grid's from its end: the slices come in reverse.
          if (seed == 0)
            std::reverse(order.begin(), order.end());
          else
            std::shuffle(order.begin(), order.end(), std::mt19937(seed));
          shuffled = true;
          return order;
        };
        lab::Floats result = p.C;
        machine::run(machine, p.product_by(gemm, result));
        CHECK(shuffled);
        CHECK(std::memcmp(result.data(), expected.data(), 4 * result.size()) == 0);
      }
    }
  });
}

TEST_CASE("a block that computes several tiles of C is right, and counted tile by tile") {
  for_each_variant(stage_table_traced, [&](const model::Stage& stage, const auto& variant) {
    if (variant.sharing != model::Sharing::persistent) return;
    for (const int sms : {1, 2}) {
      // One SM computes all tiles of large sizes, and two share those of small ones.
      if (variant.for_small != (sms == 2)) continue;
      const Case edges = several_tiles(variant, sms);
      check_right(Where::traced, stage, variant, edges);
      const auto plain = model::find_kernel(stage_table_plain, stage.number, variant.name);
      check_right(Where::plain, plain.stage, plain.variant, edges);
      const Case whole{variant.BM, 3 * variant.BN, 4 * variant.BK, 1, 1, 0, sms};
      CAPTURE(whole);
      const model::Counts counts = counts_of(variant, whole);
      CHECK(counts.blocks == sms);
      check_formulas(counts, predicted(stage, variant, whole, counts));
      const model::Product product{whole.M, whole.N, whole.K, true, sms};
      CHECK(model::traced_tiles(product, variant, counts) == 3);
    }
  });
}

// The stages that multiply fp16 parts, with data that the parts hold and do not hold.

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

// On the CPU, compared with the reference.
lab::Measurement measure(
    const lab::Problem& p, const lab::Kernel& kernel,
    machine::Blocks blocks = machine::Blocks::kSample) {
  const lab::Reference reference = lab::compute_reference(p);
  lab::Floats result;
  return lab::measure(p, kernel, {.machine = {&limits(), blocks}, .reference = &reference}, result);
}

lab::Measurement outcome_of(
    const lab::Problem& p, const model::Variant& variant = proves_parts(experiment_table_plain())) {
  const model::StageTable& table = experiment_table_plain();
  int stood_in = 0;
  return measure(
      p, {.plain = lab::noting_stand_in(lab::gemm_of(table, variant), table, stood_in),
          .precision = model::kSplitFp16,
          .stood_in = &stood_in,
          .of_stand_ins = {model::kSplitTf32, model::kFp32}});
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

// Scales each row, or each column, by a power of two.
void scale(lab::Floats& matrix, int columns, int most, bool by_rows) {
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const int at = static_cast<int>(i);
    matrix[i] = std::ldexp(matrix[i], exponent(by_rows ? at / columns : at % columns, most));
  }
}
void scale_rows(lab::Floats& matrix, int columns, int most) {
  scale(matrix, columns, most, true);
}
void scale_columns(lab::Floats& matrix, int columns, int most) {
  scale(matrix, columns, most, false);
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
  const lab::Measurement outcome = outcome_of(p);
  CHECK(!outcome.stood_in);
  CHECK(outcome.error->bound_ok);
  CHECK(outcome.error->relative < 2e-7);
}

TEST_CASE("another kernel stands in where fp16 parts would lose too much") {
  lab::Problem p = problem_without_zeros(70, 90, 200);
  SUBCASE("the same k is large in A and small in B") {
    scale_columns(p.A, p.K, 20);
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
  const lab::Measurement outcome = outcome_of(p);
  CHECK(outcome.stood_in == 1);
  CHECK(outcome.error->bound_ok);
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
  const lab::Measurement outcome = outcome_of(p);
  CHECK(outcome.stood_in == 2);
  CHECK(outcome.error->bound_ok);
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
      const lab::Measurement outcome = outcome_of(*p);
      CHECK(!outcome.stood_in);
      CHECK(outcome.error->bound_ok);
    }
  }
  // A stage that does not judge neither asks for doubts nor uses up a word for them.
  for (const model::Variant* variant : without_stand_in(experiment_table_plain())) {
    CAPTURE(std::string(variant->kernel.name));
    CHECK(outcome_of(with_infinity).stood_in);
    const lab::Measurement outcome = outcome_of(ordinary, *variant);
    CHECK(!outcome.stood_in);
    CHECK(outcome.error->bound_ok);
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
      CHECK(outcome_of(p, *variant).error->bound_ok == (variant->has_units || largest < 64));
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
      const lab::Measurement columns = outcome_of(p);
      CHECK(columns.error->bound_ok);
      scale_rows(p.B, p.N, -most);
      CHECK(outcome_of(p).error->bound_ok);
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
      machine::Machine machine{&limits()};
      machine.traces_aside = true;
      const model::StageTable& table = experiment_table_traced();
      const lab::Gemm gemm = lab::gemm_of(table, proves_parts(table));
      const model::Counts counts = trace::trace(machine, arrays, p.product_by(gemm, result));
      CHECK(counts.hazards.empty());
      CHECK(counts.blocks > p.M);
    }
  }
}

TEST_CASE("K is cut into slices where C has few results, and their sums are C") {
  int cut = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    for (const auto& [M, N, K] : {std::array{16, 52, 2112}, {15, 66, 2101}}) {
      const lab::Problem p = lab::random_problem({M, N, K}, 1.5f, 0.5f, 7);
      if (stage.needs.hardware != model::kTma.hardware) continue;
      if (model::multiplies_parts(stage.variants.front())) continue;
      // The smallest tile.
      const auto smallest = std::min_element(
          stage.variants.begin(), stage.variants.end(),
          [](const model::Variant& a, const model::Variant& b) {
            return a.BM * a.BN < b.BM * b.BN;
          });
      const model::Variant& variant = *smallest;
      const model::ShareOut shares = model::share_out(variant, M, N, K, limits().sms);
      CAPTURE(stage.name);
      CAPTURE(K);
      CHECK(shares.slices > 1);
      ++cut;
      const lab::Measurement measured = measure(
          p,
          {.traced = lab::gemm_of(stage_table_traced, variant, limits().sms),
           .plain = lab::gemm_of(
               stage_table_plain,
               model::find_stage(stage_table_plain.stages, stage.number)->variants.front(),
               limits().sms),
           .precision = stage.precision,
           .sample = lab::sample_of(p, variant, limits().sms)},
          N < 64 ? machine::Blocks::kAll : machine::Blocks::kSample);
      REQUIRE(measured.error);
      CHECK(measured.error->bound_ok);
      CHECK(measured.counts->hazards.empty());
      CHECK(measured.counts->blocks == model::blocks_of(shares, model::tiles_of(variant, M, N)));
    }
  }
  CHECK(cut == 2 * 4);
}

TEST_CASE("the GPU computes every stage and variant right" * doctest::skip(!gpu_is_here())) {
  check_all_variants(Where::gpu);
  check_random_shapes(Where::gpu, 200);
  for_each_cutting_variant(Where::gpu, [](const auto& stage, const auto& variant) {
    for (const Case& c : cut_cases(variant)) {
      check_right(Where::gpu, stage, variant, c);
      check_right(Where::gpu, stage, variant, c);
    }
  });
  for_each_variant(Where::gpu, [](const model::Stage& stage, const model::Variant& variant) {
    if (variant.sharing != model::Sharing::persistent) return;
    for (const int sms : {1, 2}) {
      check_right(Where::gpu, stage, variant, several_tiles(variant, sms));
    }
  });
}

TEST_CASE(
    "make test-all: every stage and variant on every random shape, other ones in each run" *
    doctest::skip(!testing::tests_all())) {
  const char* const again = std::getenv("GEMM_STEPS_SEED");
  const unsigned seed = again ? std::stoul(again) : std::random_device()();
  MESSAGE("GEMM_STEPS_SEED=", seed, " draws these shapes again");
  for (Where where : {Where::plain, Where::traced, Where::measured, Where::gpu}) {
    if (where == Where::gpu && !gpu_is_here()) continue;
    for_each_variant(where, [&](const model::Stage& stage, const model::Variant& variant) {
      for (const Case& c : random_cases(60, seed)) check_right(where, stage, variant, c);
    });
  }
}

TEST_CASE("more block rows than a grid can have are computed in several launches") {
  const auto naive = model::find_kernel(stage_table_plain, 1, "8x8");
  check_right(Where::plain, naive.stage, naive.variant, {65536 * 8 + 1, 1, 1});
}

TEST_CASE("the three copies of the stage table have the same kernels, by ascending numbers") {
  for (const model::StageTable* copy : {&stage_table_plain, &stage_table_traced, &stage_table}) {
    if (copy == nullptr) continue;
    int before = -1;
    for (const model::Stage& stage : copy->stages) {
      CHECK(stage.number > std::exchange(before, stage.number));
      for (const model::Variant& variant : stage.variants) {
        const auto plain = model::find_kernel(stage_table_plain, stage.number, variant.name);
        CHECK(std::string(variant.kernel.name) == plain.variant.kernel.name);
        CHECK(stage.variants.size() == plain.stage.variants.size());
      }
    }
    CHECK(copy->stages.size() == stage_table_plain.stages.size());
  }
}

TEST_CASE("traced counts per thread equal the stage table's formulas") {
  struct Parameters {
    int tiles;
    float beta;
    int misaligned;
  };
  // Every pair of values, and the first two for other tile sizes of the same code. With whole
  // tiles, every thread does the same. A misaligned C takes the scalar path.
  constexpr int kAround = 0;  // the ring of tiles, or three
  constexpr Parameters kPairs[] = {{2, 0, 1}, {2, 1, 0},       {1, 0, 0},
                                   {1, 1, 1}, {kAround, 0, 0}, {kAround, 1, 1}};
  const auto check = [&](const model::Stage& stage, const model::Variant& variant) {
    const bool own_code = has_own_code(stage, variant);
    for (const Parameters& p : std::span(kPairs).first(own_code ? 6 : 2)) {
      const model::Variant& v = variant;
      const int columns = (own_code && &p == kPairs ? 2 : 1) * v.BN;  // every block does the same
      const int tiles = p.tiles == kAround ? std::max(3, v.pipeline + 2) : p.tiles;
      const Case c{v.BM, columns, tiles * std::max(v.BK, 4), 1, p.beta, p.misaligned};
      CAPTURE(std::string(variant.kernel.name));
      CAPTURE(c);
      const model::Counts counts = counts_of(variant, c);
      check_formulas(counts, predicted(stage, variant, c, counts), !is_specialized(stage));
    }
  };
  for_each_variant(experiment_table_traced(), check);
}

TEST_CASE("traced counts of the thread that does the most equal the formulas where tiles are cut") {
  for_each_cutting_variant(stage_table_traced, [](const auto& stage, const auto& variant) {
    for (int misaligned : {0, 1}) {
      if (misaligned == 1 && !has_own_code(stage, variant)) continue;
      // One tile, in as many slices as there are SMs, of enough K tiles to go around a ring of
      // them, or as few as are worth a cut.
      const int sms = variant.for_small || hands_on_sums(variant) ? 3 : 2;
      const int depth = hands_on_sums(variant) ? 8 : variant.pipeline + 2;
      const float beta = misaligned == variant.for_small ? 1 : 0;
      const Case c{variant.BM, variant.BN, sms * depth * variant.BK, 1, beta, misaligned, sms};
      CAPTURE(std::string(variant.kernel.name));
      CAPTURE(c);
      const model::Counts counts = counts_of(variant, c, /*hazards=*/!variant.for_small);
      CHECK(counts.blocks == sms);
      CHECK(counts.hazards.empty());
      check_formulas(counts, predicted(stage, variant, c, counts));
    }
  });
}

TEST_CASE(
    "tensor cores make 1 or 3 multiply-adds for each element of A and of B's columns, or none") {
  int stages = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty()) continue;
    CAPTURE(stage.number);
    const model::Variant& v = stage.variants.back();
    const Case c{v.BM, 2 * v.BN, 2 * std::max(v.BK, 4)};
    const model::Counts counts = counts_of(v, c);
    if (v.multiplier == model::Multiplier::ffma) {
      CHECK(counts.mmas == 0);
      CHECK(counts.mma_products == 0);
      continue;
    }
    CHECK(counts.mmas > 0);
    const bool in_parts = v.multiplier == model::Multiplier::wgmma_3xtf32 ||
                          v.multiplier == model::Multiplier::wgmma_3xf16;
    const int products = in_parts ? 3 : 1;
    CHECK(counts.mma_products == products * std::int64_t{c.M} * c.N * c.K);
    ++stages;
  }
  CHECK(stages > 0);
}

TEST_CASE("loads per thread equal the published hand counts") {
  struct Source {
    int stage;
    const char* variant;
    double gmem_per_k, smem_per_k;
  };
  const Source sources[] = {{1, "32x32", 2, 0},        {2, "32x32", 2, 0},
                            {3, "16x16", 1 / 8.0, 2},  {3, "32x32", 1 / 16.0, 2},
                            {4, "16x16x16-tm8", 1, 9}, {4, "64x64x8-tm8", 1 / 4.0, 9},
                            {5, "64x64x8", 2, 16},     {5, "128x128x8", 1, 16}};
  constexpr int kK = 128;
  for (const Source& source : sources) {
    CAPTURE(source.stage);
    CAPTURE(std::string(source.variant));
    const model::Variant& variant =
        model::find_kernel(stage_table_traced, source.stage, source.variant).variant;
    const model::Counts counts = counts_of(variant, {variant.BM, variant.BN, kK});
    check_every_thread(counts.gmem_loads.floats, source.gmem_per_k * kK, "global memory");
    check_every_thread(counts.smem_loads.floats, source.smem_per_k * kK, "shared memory");
  }
}

TEST_CASE("coarsening by s makes M N K / 32 (1 + 1/s) requests to shared memory as written") {
  constexpr int kSize = 64;
  for (int s : {1, 2, 4, 8, 16}) {
    CAPTURE(s);
    const model::Variant& variant =
        model::find_kernel(stage_table_traced, 4, "16x16x16-tm" + std::to_string(s)).variant;
    const model::Counts counts = counts_of(variant, {kSize, kSize, kSize});
    // A block of 16 threads fills half a warp, so it needs twice the requests.
    const double warp_fill = s == 16 ? 0.5 : 1.0;
    CHECK(counts.smem_loads.requests == kSize * kSize * kSize / 32.0 * (1 + 1.0 / s) / warp_fill);
  }
}

TEST_CASE("the conflict-free stages have no bank conflicts, but the vectorized one does") {
  for_each_variant(
      stage_table_traced, [&](const model::Stage& stage, const model::Variant& variant) {
        const bool vectorized = std::string_view(stage.name) == "vectorized";
        if (!model::lesson_of(stage, variant).conflict_free && !vectorized) return;
        CAPTURE(std::string(variant.kernel.name));
        const Case c{variant.BM, variant.BN, 2 * variant.BK};
        const model::Counts counts = counts_of(variant, c);
        const auto in_loads = counts.smem_loads.bank_conflicts;
        const auto in_copies = counts.async_smem.bank_conflicts;
        const auto in_stores = counts.smem_stores.bank_conflicts - in_copies;
        // Threads with four columns of C load float4 that lie side by side.
        CHECK((in_loads > 0) == (vectorized && variant.TN > 4));
        CHECK((in_stores > 0) == vectorized);
      });
}

TEST_CASE("every access of every stage belongs to a line of its kernel") {
  const auto check = [&](const model::Stage& stage, const model::Variant& variant) {
    if (!has_own_code(stage, variant)) return;
    for (const bool aligned : {true, false}) {
      const model::Variant& launched = variant;
      const model::KernelRef& kernel = aligned ? launched.kernel : launched.kernel_any;
      const Case c{variant.BM + 1, variant.BN + 4, 20, 1, 1, aligned ? 0 : 1};
      CAPTURE(std::string(kernel.name));
      model::Counts counts = counts_of(variant, c);
      const trace::SourceRange lines = trace::kernel_lines(kernel.function);
      REQUIRE(lines.first > 0);
      trace::resolve_lines(counts.lines, lines);
      for (const model::LineCounts& line : counts.lines) {
        CHECK(line.line >= lines.first);
        CHECK(line.line <= lines.last);
      }
    }
  };
  for_each_variant(experiment_table_traced(), check);
}

TEST_CASE("an access in a helper belongs to the line that calls it, with the array's name") {
  const model::Variant& variant = model::find_kernel(stage_table_traced, 3, "16x16").variant;
  model::Counts counts = counts_of(variant, {32, 32, 32});
  const trace::SourceRange lines = trace::kernel_lines(variant.kernel.function);
  trace::resolve_lines(counts.lines, lines);
  std::istringstream source(trace::source_text(lines.file));
  std::vector<std::string> text(1);
  for (std::string line; std::getline(source, line);) text.push_back(line);
  std::vector<std::string> seen;
  for (const model::LineCounts& line : counts.lines) {
    CHECK(text.at(line.line).find(line.array) != std::string::npos);
    seen.push_back(line.array);
  }
  std::sort(seen.begin(), seen.end());
  // As and Bs are each stored to and loaded from on one line of their own.
  CHECK(seen == std::vector<std::string>{"A", "As", "As", "B", "Bs", "Bs", "C"});
}

namespace {

void check_equal(const std::vector<model::Counts>& counts) {
  for (const model::Counts& c : counts) {
    CHECK(c.gmem_loads.accesses.min == counts[0].gmem_loads.accesses.min);
    CHECK(c.gmem_loads.accesses.sum == counts[0].gmem_loads.accesses.sum);
    CHECK(c.gmem_loads.pieces == counts[0].gmem_loads.pieces);
    CHECK(c.smem_loads.pieces == counts[0].smem_loads.pieces);
    CHECK(c.smem_stores.requests == counts[0].smem_stores.requests);
    REQUIRE(c.lines.size() == counts[0].lines.size());
  }
}

}  // namespace

TEST_CASE("the counts do not depend on the number of OpenMP threads") {
  const model::Variant& variant = model::find_kernel(stage_table_traced, 3, "16x16").variant;
  const int threads_before = omp_get_max_threads();
  std::vector<model::Counts> counts;
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    counts.push_back(counts_of(variant, {35, 79, 19}));
  }
  omp_set_num_threads(threads_before);
  check_equal(counts);
}

TEST_CASE("the counts do not depend on the number of OpenMP threads where tiles are cut") {
  const int threads_before = omp_get_max_threads();
  for_each_cutting_variant(stage_table_traced, [](const auto&, const auto& variant) {
    if (!variant.for_small || !hands_on_sums(variant)) return;
    std::vector<model::Counts> counts;
    for (int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      const Case c{variant.BM + 1, variant.BN, 260, 1, 1, 0, 5};
      REQUIRE(model::share_out(variant, c.M, c.N, c.K, c.sms).slices > 1);
      counts.push_back(counts_of(variant, c));
    }
    check_equal(counts);
  });
  omp_set_num_threads(threads_before);
}

namespace {

// The ceiling of a stage's default variant for a product of `size` cubed. Counts grow linearly with
// K, so those of a few tiles are enough.
model::Ceiling ceiling_of_stage(int number, const char* gpu_name, int size) {
  constexpr int kTraced = 256;
  const model::Variant& variant = model::find_kernel(stage_table_traced, number).variant;
  const model::Gpu& gpu = *model::find_gpu(gpu_name);
  const model::Counts counts = counts_of(variant, {variant.BM, variant.BN, kTraced});
  const model::CompiledKernel record =
      model::find_compiled_loop(variant.kernel.name, gpu.compute_capability).value();
  return model::ceiling_as_compiled(gpu, {size, size, kTraced, false}, variant, counts, record)
      .value();
}

// The time in milliseconds of a stage in a recorded table: the first number after its name. 0 if it
// has no such stage.
double recorded_ms(const std::string& path, int number) {
  std::istringstream table(testing::contents(path));
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != std::to_string(number)) continue;
    while (words >> word) {
      char* end = nullptr;
      const double ms = std::strtod(word.c_str(), &end);
      if (*end == '\0') return ms;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("an H200 ran every recorded stage at 0.6 to 1.0 of its ceiling") {
  int recorded = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    const double ms = recorded_ms("results/h200-4096.txt", stage.number);
    if (stage.variants.empty() || ms == 0) continue;
    ++recorded;
    CAPTURE(stage.number);
    const double tflops = 2 * 4096.0 * 4096 * 4096 / ms * 1e-9;
    const double ratio = tflops / ceiling_of_stage(stage.number, "H200", 4096).tflops;
    CAPTURE(ratio);
    CHECK(ratio >= 0.6);
    CHECK(ratio <= 1.0);
  }
  CHECK(recorded >= 9);
}

// Kernels of other authors for the same stages; their clock rates are not known.
TEST_CASE("published times on two other GPUs exceed no ceiling by more than a tenth, in order") {
  struct Published {
    const char* gpu;
    int stage;
    double tflops;
  };
  constexpr double kAboveTheBoostClock = 1.1;
  const Published published[] = {
      {"RTX A6000", 1, 0.309}, {"RTX A6000", 2, 1.987}, {"RTX A6000", 3, 2.980},
      {"RTX A6000", 4, 8.475}, {"RTX A6000", 5, 15.97}, {"RTX A6000", 6, 18.24},
      {"RTX A6000", 8, 21.78}, {"RTX 3090", 1, 0.28},   {"RTX 3090", 2, 2.2},
      {"RTX 3090", 3, 2.9},    {"RTX 3090", 4, 6.0},    {"RTX 3090", 5, 15},
      {"RTX 3090", 6, 18},     {"RTX 3090", 8, 20}};
  double before = 0;
  for (const Published& p : published) {
    CAPTURE(std::string(p.gpu));
    CAPTURE(p.stage);
    const double ceiling = ceiling_of_stage(p.stage, p.gpu, 4092).tflops;
    CHECK(p.tflops <= kAboveTheBoostClock * ceiling);
    if (p.stage > 1) CHECK(ceiling > before);
    before = ceiling;
  }
}

TEST_CASE("every access of every stage is announced to the tracer, and nothing else") {
  if (!trace::why_no_audit().empty()) {
    MESSAGE("skipped: ", trace::why_no_audit());
    return;
  }
  // With GEMM_STEPS_TEST_ALL=1: blocks of all variants; else enough of a warp of each stage to
  // reach all of its lines.
  const bool all = testing::tests_all();
  const auto audit_variant = [&](const model::Stage& stage, const model::Variant& variant) {
    const bool of_the_ladder =
        model::find_stage(stage_table_traced.stages, stage.number) != nullptr;
    if (!all && (!of_the_ladder || !has_own_code(stage, variant))) return;
    CAPTURE(std::string(variant.kernel.name));
    for (const int misaligned : {0, 1}) {
      const lab::Problem p =
          lab::random_problem({variant.BM, variant.BN, variant.BK + 1}, 1, 1, 1, misaligned);
      lab::Floats result = p.C;
      model::Audit audit;
      audit.most_accesses = all ? 50'000 : 3'000;
      audit.every = all ? 1 : 8;
      machine::Machine machine{&limits(), machine::Blocks::kFirst};
      machine.audit = &audit;
      trace::trace(
          machine, p.arrays(result),
          p.product_by(lab::gemm_of(experiment_table_traced(), variant), result));
      CHECK(audit.complete());
    }
  };
  for_each_variant(experiment_table_traced(), audit_variant);
}

TEST_CASE("a pipeline has tiles in flight, and a stage without a pipeline has none") {
  constexpr int kTiles = 10;
  int pipelines = 0;
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.variants.empty() || stage.variants[0].BK == 0) continue;
    CAPTURE(stage.number);
    const model::Variant& v = stage.variants[0];
    const model::Counts counts = counts_of(v, {v.BM, v.BN, kTiles * v.BK});
    if (is_specialized(stage)) {
      CHECK(counts.barriers == 1);  // from then on, mbarriers
      continue;
    }
    // One barrier per tile; or one after each half of the loop.
    CHECK(counts.barriers == (v.pipeline > 0 ? kTiles : 2 * kTiles));
    std::int64_t most = 0;
    for (const model::LineCounts& line : counts.lines) most = std::max(most, line.in_flight_most);
    const int warps = v.threads() / 32;
    const std::int64_t tile_bytes = 4 * (v.BM + v.BN) * v.BK;
    CHECK(most * warps == v.pipeline * tile_bytes);
    pipelines += v.pipeline > 0;
  }
  CHECK(pipelines > 0);
}

TEST_CASE("in the recorded comparisons with GPUs, all counts and bottlenecks agree") {
  for (const char* shape : {"256", "251x509x127", "252x508x132"}) {
    CAPTURE(std::string(shape));
    const std::string text = testing::contents("results/h200-ncu-" + std::string(shape) + ".txt");
    const std::string counts = text.substr(0, text.find("A count that is 0"));
    CHECK(counts.find("async pipeline") != std::string::npos);
    CHECK(counts.find("≠") == std::string::npos);
    CHECK(counts.find("?") == std::string::npos);
  }
  for (const std::string gpu : {"h200", "h100"}) {
    const std::string ceilings = testing::contents("results/" + gpu + "-ceilings-4096.txt");
    CHECK(ceilings.find("21 of 21 stages lie between 0.6 and 1.0") != std::string::npos);
    CHECK(ceilings.find("21 of 21 the unit named is ncu's busiest") != std::string::npos);
  }
}

// results/h200-ncu-256.txt has all of these numbers.
TEST_CASE(
    "compiled loads from shared memory, and their wavefronts, are those that an H200 counted") {
  struct Counted {
    int stage;
    double requests, wavefronts;
  };
  for (const Counted& counted :
       {Counted{3, 655360, 786432},
        {4, 196608, 327680},
        {5, 81920, 262144},
        {6, 32768, 163840},
        {7, 32768, 98304},
        {8, 24576, 49152}}) {
    CAPTURE(counted.stage);
    const model::Variant& variant = model::find_kernel(stage_table_traced, counted.stage).variant;
    const model::Counts counts = counts_of(variant, {variant.BM, variant.BN, 256});
    const model::SharedLoads loads = model::shared_loads_as_compiled(
        {256, 256, 256, false}, variant, counts,
        model::find_compiled_loop(variant.kernel.name, 90).value());
    const double blocks = 256.0 / variant.BM * 256 / variant.BN;
    CHECK(loads.requests * blocks == counted.requests);
    CHECK(loads.wavefronts * blocks == counted.wavefronts);
  }
}

// ncu's counts on an H200, 2026-11-24 and 28. The tiles reach beyond A or B, so lanes copy the same
// element or fill with zeros.
TEST_CASE("cp.async of tiles past an edge takes the wavefronts that an H200 counted") {
  struct Counted {
    int stage;
    const char* variant;
    int M, N, K;
    std::int64_t wavefronts;
  };
  for (const Counted& counted :
       {Counted{9, "64x64x8", 191, 12, 128, 3977},
        {10, "64x64x8", 64, 272, 192, 12864},
        {12, "64x64x16", 216, 64, 60, 3432},
        {12, "64x64x16", 148, 20, 4, 646},
        {13, "64x64x32", 216, 64, 60, 2156},
        {13, "64x64x32", 148, 20, 4, 720},
        {13, "64x64x32", 64, 272, 192, 7104}}) {
    CAPTURE(counted.stage);
    CAPTURE(counted.M);
    const model::Variant& variant =
        model::find_kernel(stage_table_traced, counted.stage, counted.variant).variant;
    const model::Counts counts = counts_of(variant, {counted.M, counted.N, counted.K});
    // Predicate P0 says which lanes of stage 9 copy a float4, and ncu takes it for false.
    const std::int64_t missed = counts.async_smem.pieces - counted.wavefronts;
    CHECK(missed >= 0);
    CHECK(missed <= (counted.stage == 9 ? counts.wavefronts_beyond_fills : 0));
  }
}

TEST_CASE("a kernel's shared arrays have the size that nvcc reports") {
  for_each_variant(experiment_table_traced(), [](const auto& stage, const model::Variant& variant) {
    CAPTURE(std::string(variant.kernel.name));
    const void* kernel = variant.kernel.function;
    std::size_t bytes = machine::static_shared_bytes(kernel);
    const int architecture = std::max(86, stage.needs.hardware);
    const auto record = model::find_compiled_kernel(variant.kernel.name, architecture);
    REQUIRE(record);
    const auto recorded = static_cast<std::size_t>(record->static_smem_bytes);
    // A function that adds up the slices of tiles has arrays of its own: a counter, in 16 bytes.
    if (recorded > bytes && variant.sharing != model::Sharing::grid) bytes += 16;
    // The file's dynamic array begins after the kernel's own, at a multiple of its alignment: 128
    // bytes, and 1,024 where the copy engine fills it.
    const std::size_t alignment = architecture < 90 ? 128 : 1024;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    CHECK(bytes == recorded);
  });
}

TEST_CASE("a launch that the GPU would refuse is refused with the limit") {
  const model::Variant& variant = model::find_kernel(stage_table_plain, 9).variant;
  model::Gpu small = limits();
  small.smem_bytes_per_block = variant.shared_bytes - 1;
  const lab::Floats values(64);
  lab::Floats C(1);
  const auto product = [&] {
    stage_table_plain.run({variant, 0, 1, 1, 1, 1, values.data(), values.data(), 0, C.data()});
  };
  CHECK_THROWS_WITH(
      machine::run({&small}, product),
      doctest::Contains(std::to_string(small.smem_bytes_per_block).c_str()));
}

TEST_CASE("the program refuses bad input in one sentence with exit code 2") {
  const testing::Folder folder;
  const std::string no_npy = folder / "no.npy";
  std::ofstream(no_npy) << "this is not a matrix\n";
  const std::string wide = folder / "wide.npy", tall = folder / "tall.npy";
  REQUIRE(gemm_steps("--device cpu --stage 1 --m 4 --n 6 --k 2 --out " + wide).exit_code == 0);
  REQUIRE(gemm_steps("--device cpu --stage 1 --m 7 --n 3 --k 2 --out " + tall).exit_code == 0);

  check_refused("--frobnicate", "--frobnicate");
  check_refused("--stage 12345", "12345");
  check_refused("--stage no-such-stage", "no-such-stage");
  check_refused("--stage 5 --variant 3x3", "3x3");
  check_refused("--size -1", "--size -1");
  check_refused("--size 0x", "--size 0x: not a number");
  check_refused("--device cpu --size 1e9", "memory");
  check_refused("--device cpu --size 2147483647", "memory");
  check_refused("--gpu Voodoo2", "Voodoo2");
  check_refused("--format xml", "xml");
  check_refused("--device cpu --a " + no_npy + " --b " + no_npy, no_npy);
  check_refused("--device cpu --a " + folder / "absent.npy --b " + wide, "absent.npy");
  check_refused("--device cpu --a " + wide + " --b " + tall, "columns of A");
  check_refused(
      "--device cpu --size 8 --stage 1 --out " + folder / "no/such/folder/x.npy", "x.npy");
  if (!gpu_is_here()) check_refused("--device gpu", "no GPU");
}

TEST_CASE("--explain shows the kernel's lines, and marks wasteful ones") {
  const Output naive = gemm_steps("--device cpu --size 64 --stage 1 --explain");
  CHECK(naive.exit_code == 0);
  CHECK(naive.out.find("sum += A[offset(row, k, K)] * B[offset(k, col, N)];") != std::string::npos);
  CHECK(naive.out.find("32.00 sectors/request, ideal 4.00 <- uncoalesced") != std::string::npos);
  const Output tiled = gemm_steps("--device cpu --size 128 --stage 5 --explain");
  CHECK(tiled.out.find("SMEM load  As") != std::string::npos);
  CHECK(tiled.out.find("<- conflicts") != std::string::npos);
  const Output free_of_conflicts = gemm_steps("--device cpu --size 128 --stage 7 --explain");
  CHECK(free_of_conflicts.out.find("<- ") == free_of_conflicts.out.find("<- least"));
}

TEST_CASE("the program reads and writes real matrices") {
  const testing::Folder folder;
  const std::string a = folder / "a.npy", d = folder / "d.npy";
  REQUIRE(gemm_steps("--device cpu --stage 2 --m 5 --n 5 --k 3 --out " + a).exit_code == 0);
  const Output first = gemm_steps(
      "--device cpu --stage 9 --a " + a + " --b " + a + " --c " + a +
      " --beta 2 --format json --out " + d);
  CHECK(first.exit_code == 0);
  CHECK(first.out.find("\"bound_ok\": true") != std::string::npos);
  CHECK(std::filesystem::file_size(d) == std::filesystem::file_size(a));
}

TEST_CASE("the same command prints the same counts") {
  const std::string command = "--device cpu --size 96 --stage 1- --no-color";
  const Output first = gemm_steps(command), second = gemm_steps(command);
  CHECK(first.exit_code == 0);
  CHECK(first.out == second.out);
}
