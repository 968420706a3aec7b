#include "experiments/experiment_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "experiments/experiment.h"
#include "gpu/gpu.h"
#include "lab/memory.h"
#include "lab/problem.h"
#include "lab/progress.h"
#include "lab/stage_tables.h"
#include "model/extrapolate.h"
#include "model/refusal.h"
#include "report/hazard_sentence.h"
#include "trace/trace.h"

namespace experiments {

// The GPU's copy of the table, where nvcc compiled one; else null.
extern const model::StageTable experiment_table __attribute__((weak));

namespace {

// Of random numbers, with a C that is NaN where it must not be read.
struct Matrices {
  lab::Floats A, B, C;
};

Matrices random_matrices(const flags::Flags& flags, const Sides& sides) {
  const std::size_t M = sides.M, N = sides.N, K = sides.K;
  return {
      lab::random_floats(M * K, 3 * flags.seed), lab::random_floats(K * N, 3 * flags.seed + 1),
      flags.beta == 0 ? lab::Floats(M * N, std::numeric_limits<float>::quiet_NaN())
                      : lab::random_floats(M * N, 3 * flags.seed + 2)};
}

// What all launches of one problem share on the GPU.
struct OnGpu {
  Sides sides;
  Matrices host;
  gpu::Matrix A, B, C;
  lab::Floats cublas;  // its result
  lab::Row cublas_row;

  OnGpu(const flags::Flags& flags, const Sides& of)
      : sides(of),
        host(random_matrices(flags, of)),
        A(host.A.size()),
        B(host.B.size()),
        C(host.C.size()) {
    A.upload(host.A.data());
    B.upload(host.B.data());
  }
};

// What every trial needs.
struct Laboratory {
  const flags::Flags& flags;
  lab::Run about;                 // without a problem
  std::unique_ptr<OnGpu> on_gpu;  // of the last problem; null without a GPU
};

std::string sides_text(const Sides& sides) {
  return "a product of " + std::to_string(sides.M) + " x " + std::to_string(sides.K) + " by " +
         std::to_string(sides.K) + " x " + std::to_string(sides.N);
}

// The kernels' own, not their traced copies, for registers and names.
const model::StageTable& own_table() {
  return &experiment_table != nullptr ? experiment_table : experiment_table_plain;
}

struct Place {
  std::size_t stage, variant;
};

// Where a table has that variant; "" is the stage's default.
Place find(int number, const std::string& variant) {
  const std::span<const model::Stage> stages = own_table().stages;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    for (std::size_t v = 0; v < stages[s].variants.size(); ++v) {
      const bool wanted = variant.empty() || variant == stages[s].variants[v].name;
      if (stages[s].number == number && wanted) return {s, v};
    }
  }
  throw std::logic_error("no such variant: " + variant);
}

// As the table has it, with the case's shared memory.
model::Variant variant_in(const model::StageTable& table, Place place, int padding_bytes) {
  model::Variant variant = table.stages[place.stage].variants[place.variant];
  variant.shared_bytes += padding_bytes;
  return variant;
}

void multiply(
    const Laboratory& lab, const model::StageTable& table, const model::Variant& variant,
    const Sides& sides, const float* A, const float* B, float* C) {
  table.run(variant, sides.M, sides.N, sides.K, lab.flags.alpha, A, B, lab.flags.beta, C);
}

// Compares what the traced blocks wrote with fp64: elements that are not what they were before.
model::Error check_written(
    const flags::Flags& flags, const Sides& sides, const Matrices& before, const lab::Floats& C,
    model::Precision precision) {
  std::vector<std::size_t> written;
  const auto differs = [](float a, float b) {
    return !(a == b || (std::isnan(a) && std::isnan(b)));
  };
  for (std::size_t i = 0; i < C.size(); ++i) {
    if (differs(C[i], before.C[i])) written.push_back(i);
  }
  const auto count = static_cast<std::int64_t>(written.size());
  std::vector<double> exact(written.size()), magnitude(written.size());
  std::vector<float> computed(written.size()), old(written.size());
#pragma omp parallel for
  for (std::int64_t at = 0; at < count; ++at) {
    const std::size_t row = written[at] / sides.N, column = written[at] % sides.N;
    double sum = 0, size = 0;
    for (std::size_t k = 0; k < std::size_t(sides.K); ++k) {
      const double product = double{before.A[row * sides.K + k]} * before.B[k * sides.N + column];
      sum += product;
      size += std::abs(product);
    }
    computed[at] = C[written[at]];
    old[at] = before.C[written[at]];
    magnitude[at] = std::abs(double{flags.alpha}) * size;
    exact[at] = flags.alpha * sum + (flags.beta == 0 ? 0 : double{flags.beta} * old[at]);
  }
  return model::compare(
      1, static_cast<int>(std::min<std::int64_t>(count, 1 << 30)), sides.K, computed.data(),
      exact.data(), magnitude.data(), flags.beta, flags.beta == 0 ? nullptr : old.data(), precision,
      flags.alpha);
}

// A product of that K with the traced copy. `row` learns whether what was computed is right.
model::Counts trace_along(
    const Laboratory& lab, const model::Variant& variant, Sides sides, int K, lab::Row& row) {
  sides.K = K;
  const Matrices m = random_matrices(lab.flags, sides);
  lab::Floats C = m.C;
  const auto bytes = [](const lab::Floats& matrix) { return matrix.size() * sizeof(float); };
  const machine::GlobalArray arrays[] = {
      {"A", m.A.data(), bytes(m.A)},
      {"B", m.B.data(), bytes(m.B)},
      {"C", C.data(), bytes(C), true}};
  machine::Machine machine{&lab.about.gpu, machine::Blocks::kSample, lab.flags.hazards};
  if (lab.flags.trace == lab::Trace::all) machine.blocks = machine::Blocks::kAll;
  model::Counts counts = trace::trace(machine, arrays, [&] {
    multiply(lab, experiment_table_traced, variant, sides, m.A.data(), m.B.data(), C.data());
  });
  row.error = check_written(lab.flags, sides, m, C, row.stage->precision);
  return counts;
}

// K of the first two traces: the rest is extrapolated. 64 floats are whole tiles of every variant
// and whole lines of 128 bytes, and every pipeline is filled by then.
constexpr int kStep = 64;

model::Counts trace_case(
    const Laboratory& lab, const model::Variant& variant, const Sides& sides, lab::Row& row) {
  const int near = kStep + sides.K % kStep, far = near + kStep;
  if (lab.flags.trace == lab::Trace::all || sides.K <= far || lab.flags.alpha == 0) {
    return trace_along(lab, variant, sides, sides.K, row);
  }
  const model::Counts of_near = trace_along(lab, variant, sides, near, row);
  const model::Counts of_far = trace_along(lab, variant, sides, far, row);
  return model::extrapolated(of_near, of_far, (sides.K - near) / kStep);
}

void require_memory_for(const Laboratory& lab, const Sides& sides) {
  const double M = sides.M, N = sides.N, K = sides.K;
  const bool whole = lab.about.gpu_present || lab.flags.trace == lab::Trace::all;
  const double a_and_b = (M + N) * (whole ? K : std::min(K, 3.0 * kStep));
  lab::require_memory(
      4 * (a_and_b + 4 * M * N), lab::available_memory(), sides_text(sides), "A, B and four C");
  if (lab.about.gpu_present) {
    lab::require_memory(
        4 * ((M + N) * K + M * N), gpu::free_bytes(), sides_text(sides), "A, B and C on the GPU");
  }
}

// Puts the matrices of that problem on the GPU and times cuBLAS, unless they are there already.
OnGpu& on_gpu(Laboratory& lab, const Sides& sides) {
  const auto is = [&](const Sides& there) {
    return there.M == sides.M && there.N == sides.N && there.K == sides.K;
  };
  if (lab.on_gpu && is(lab.on_gpu->sides)) return *lab.on_gpu;
  lab.on_gpu.reset();  // first, so that two are never there at once
  lab.on_gpu = std::make_unique<OnGpu>(lab.flags, sides);
  OnGpu& g = *lab.on_gpu;
  const auto compute = [&] {
    gpu::cublas_sgemm(
        false, sides.M, sides.N, sides.K, lab.flags.alpha, g.A.data(), g.B.data(), lab.flags.beta,
        g.C.data());
  };
  g.C.upload(g.host.C.data());
  compute();
  gpu::synchronize();
  g.cublas = g.host.C;
  g.C.download(g.cublas.data());
  g.cublas_row.name = "cuBLAS fp32";
  g.cublas_row.time = lab::summary(gpu::time_ms(lab.flags.reps.value_or(0), compute));
  return g;
}

void time_case(Laboratory& lab, const model::Variant& variant, const Sides& sides, Trial& trial) {
  OnGpu& g = on_gpu(lab, sides);
  gpu::allow_shared_bytes(
      trial.row.aligned ? variant.kernel.function : variant.kernel_any.function,
      variant.shared_bytes);
  const auto compute = [&] {
    multiply(lab, own_table(), variant, sides, g.A.data(), g.B.data(), g.C.data());
  };
  g.C.upload(g.host.C.data());
  compute();
  gpu::synchronize();
  lab::Floats result = g.host.C;
  g.C.download(result.data());
  trial.row.cublas_error = lab::relative_difference(result, g.cublas);
  trial.row.time = lab::summary(gpu::time_ms(lab.flags.reps.value_or(0), compute));
  trial.run.rows = {g.cublas_row};
}

// The variants that the trials' rows point to.
using Variants = std::vector<std::unique_ptr<model::Variant>>;

Trial make_trial(Laboratory& lab, const Case& a_case, const Sides& sides, Variants& variants) {
  require_memory_for(lab, sides);
  const Place place = find(a_case.stage, a_case.variant);
  const model::Stage& stage = own_table().stages[place.stage];
  variants.push_back(
      std::make_unique<model::Variant>(variant_in(own_table(), place, a_case.padding_bytes)));
  const model::Variant& variant = *variants.back();

  Trial trial{a_case.setting, lab.about, {}};
  trial.run.M = sides.M;
  trial.run.N = sides.N;
  trial.run.K = sides.K;
  lab::Row& row = trial.row;
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &variant;

  const int K_read = lab.flags.alpha == 0 ? 0 : sides.K;
  const model::KernelRef& kernel =
      own_table().kernel_for(variant, sides.N, K_read, nullptr, nullptr, nullptr);
  row.aligned = &kernel == &variant.kernel;
  const model::Variant traced = variant_in(experiment_table_traced, place, a_case.padding_bytes);
  row.counts = trace_case(lab, traced, sides, row);
  if (!row.counts->hazards.empty()) {
    const model::KernelRef& ran = row.aligned ? traced.kernel : traced.kernel_any;
    lab::annotate(row, reinterpret_cast<const void*>(ran.function));
  }
  row.occupancy = lab::occupancy_of(lab.flags, trial.run, variant, kernel);
  if (lab.about.gpu_present) time_case(lab, variant, sides, trial);
  return trial;
}

const Experiment& find_experiment(const std::string& name) {
  std::string names;
  for (const Experiment& experiment : experiments()) {
    if (name == experiment.name) return experiment;
    names += std::string(names.empty() ? "" : ", ") + experiment.name;
  }
  throw model::Refusal(
      "--experiment " + name + ": there is no such experiment; there are " + names + ", and list");
}

void refuse_useless_flags(const flags::Flags& flags, const Experiment& experiment) {
  const std::string name = std::string("--experiment ") + experiment.name;
  const std::pair<bool, const char*> useless[] = {
      {flags.explain, "--explain"},
      {!flags.a.empty(), "--a"},
      {!flags.out.empty(), "--out"},
      {!flags.ncu.empty(), "--ncu"}};
  for (const auto& [given, flag] : useless) {
    if (given) throw model::Refusal(name + " has no use for " + flag + "; leave " + flag + " out");
  }
  if (!flags.variant.empty() && experiment.one_kernel == 0) {
    throw model::Refusal(name + " chooses its variants itself; leave --variant out");
  }
  const bool has_shapes = experiment.otherwise.N == 0;
  if (has_shapes && (flags.n || flags.k)) {
    throw model::Refusal(
        name +
        " brings its own shapes; leave --n and --k out, and give --size for the "
        "squares or --m for the tokens");
  }
}

// --m, --n and --k before --size before the experiment's own.
Sides sides_of(const flags::Flags& flags, const Experiment& experiment) {
  const Sides& otherwise = experiment.otherwise;
  if (otherwise.N == 0) {  // its own shapes: of so many tokens, and of that size
    return {flags.m.value_or(otherwise.M), 0, flags.size.value_or(otherwise.K)};
  }
  const auto side = [&](const std::optional<int>& own, int usual) {
    return own.value_or(flags.size.value_or(usual));
  };
  return {side(flags.m, otherwise.M), side(flags.n, otherwise.N), side(flags.k, otherwise.K)};
}

// The kernel of an experiment that has only one: --stage and --variant choose another.
Place kernel_of(const flags::Flags& flags, const Experiment& experiment) {
  if (flags.stage.empty()) return find(experiment.one_kernel, experiment.variant);
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  if (chosen.size() != 1 || chosen.front()->variants.empty()) {
    throw model::Refusal(
        "--stage " + flags.stage + ": --experiment " + experiment.name +
        " is about one kernel; give one stage from 1 on");
  }
  const Place place = find(chosen.front()->number, "");
  const model::Stage& stage = own_table().stages[place.stage];
  return find(stage.number, flags::select_variant(stage, flags.variant).name);
}

// The cases, of them those of --stage.
std::vector<Case> cases_of(const Laboratory& lab, const Experiment& experiment) {
  const flags::Flags& flags = lab.flags;
  Plan plan{sides_of(flags, experiment), lab.about.gpu, nullptr, nullptr, std::nullopt};
  if (experiment.one_kernel > 0) {
    const Place place = kernel_of(flags, experiment);
    plan.stage = &own_table().stages[place.stage];
    plan.variant = &plan.stage->variants[place.variant];
    plan.occupancy = lab::occupancy_of(flags, lab.about, *plan.variant, plan.variant->kernel);
    return experiment.cases(plan);
  }
  std::vector<Case> cases = experiment.cases(plan);
  if (flags.stage.empty()) return cases;
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  std::erase_if(cases, [&](const Case& a_case) {
    return std::none_of(chosen.begin(), chosen.end(), [&](const model::Stage* stage) {
      return stage->number == a_case.stage;
    });
  });
  if (cases.empty()) {
    throw model::Refusal(
        "--stage " + flags.stage + ": --experiment " + experiment.name +
        " has no row of that stage; leave --stage out");
  }
  return cases;
}

// Whether the result is what it should be; says where not.
bool is_right(const Trial& trial) {
  // Two fp32 products of random matrices differ by a few 1e-6 at most, whatever their order.
  constexpr double kFromCublas = 1e-4;
  const lab::Row& row = trial.row;
  const bool near_cublas = !row.cublas_error || *row.cublas_error <= kFromCublas;
  if (row.error->bound_ok && near_cublas) return true;
  std::fprintf(
      stderr, "gemm_steps: %s (%s) is wrong: it computes another product than %s\n",
      row.name.c_str(), trial.setting.c_str(), near_cublas ? "the fp64 reference" : "cuBLAS");
  return false;
}

}  // namespace

int run_experiment(const flags::Flags& flags, const std::string& command) {
  if (flags.experiment == "list") return print_experiments(stdout, flags.format), 0;
  const Experiment& experiment = find_experiment(flags.experiment);
  refuse_useless_flags(flags, experiment);

  Laboratory lab{flags, {}, nullptr};
  lab::Run& about = lab.about;
  about.gpu_present = lab::choose_device(flags);
  about.gpu = lab::choose_model(flags, about.gpu_present);
  about.alpha = flags.alpha;
  about.beta = flags.beta;
  about.seed = flags.seed;
  about.command = command;
  about.date = lab::now_utc();
  if (about.gpu_present) about.driver = gpu::driver_and_runtime();
  const Sides problem = sides_of(flags, experiment);

  std::vector<Trial> trials;
  Variants variants;
  {
    const std::vector<Case> cases = cases_of(lab, experiment);
    lab::Progress progress(experiment.name, static_cast<std::int64_t>(cases.size()));
    for (const Case& a_case : cases) {
      trials.push_back(make_trial(lab, a_case, a_case.of.value_or(problem), variants));
      progress.advance(1);
    }
  }
  print_experiment(
      stdout, experiment, about, trials, flags.format, {flags::wants_colour(flags, stdout)});

  bool failed = false;
  for (const Trial& trial : trials) {
    failed |= !is_right(trial);
    lab::Run run = trial.run;
    run.rows = {trial.row};
    failed |= report::report_hazards("gemm_steps", run);
  }
  return failed ? 1 : 0;
}

}  // namespace experiments
