#include "experiments/experiment_command.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "experiments/choice.h"
#include "experiments/kernel_tables.h"
#include "experiments/print.h"
#include "gpu/gpu.h"
#include "lab/device.h"
#include "lab/measure.h"
#include "lab/memory.h"
#include "lab/problem.h"
#include "lab/progress.h"
#include "model/ceiling.h"
#include "model/refusal.h"
#include "report/hazard_sentence.h"

namespace experiments {

namespace {

// What all launches of one problem share on the GPU.
struct OnGpu {
  const lab::Problem problem;
  lab::OnGpu matrices{problem};
  lab::Floats cublas{};  // its result
  lab::Row cublas_row{};
};

// What every trial needs.
struct Laboratory {
  const flags::Flags& flags;
  lab::Run about;                 // without a problem
  std::unique_ptr<OnGpu> on_gpu;  // for the last problem; null without a GPU
};

std::string sides_text(const Sides& sides) {
  return "a product of " + std::to_string(sides.M) + " x " + std::to_string(sides.K) + " by " +
         std::to_string(sides.K) + " x " + std::to_string(sides.N);
}

lab::Problem problem_of(const flags::Flags& flags, const Sides& sides) {
  return lab::random_problem({sides.M, sides.N, sides.K}, flags.alpha, flags.beta, flags.seed);
}

// A product with that K by the traced copy. `row` receives whether the result is right.
model::Counts trace_along(
    const Laboratory& lab, const model::Variant& variant, Sides sides, int K, lab::Row& row) {
  sides.K = K;
  const lab::Problem p = problem_of(lab.flags, sides);
  lab::Means means{{&lab.about.gpu, machine::Blocks::kSample, lab.flags.hazards}};
  if (lab.flags.trace == lab::Trace::all) means.machine.blocks = machine::Blocks::kAll;
  lab::Floats C;
  const lab::Measurement measured =
      lab::measure(p, {.traced = lab::gemm_of(experiment_table_traced, variant)}, means, C);
  row.error = lab::compare_written(p, C, model::precision_of(*row.stage, variant));
  return *measured.counts;
}

// K of the first two traces, from which the rest is extrapolated. 64 floats are whole tiles of
// every variant and whole 128-byte lines, and fill every pipeline.
constexpr int kStep = 64;

model::Counts trace_launch(
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

// Copies that problem's matrices to the GPU and times cuBLAS, unless this is done already.
OnGpu& on_gpu(Laboratory& lab, const Sides& sides) {
  const auto is = [&](const lab::Problem& there) {
    return there.M == sides.M && there.N == sides.N && there.K == sides.K;
  };
  if (lab.on_gpu && is(lab.on_gpu->problem)) return *lab.on_gpu;
  lab.on_gpu.reset();  // first, so that two never exist at once
  lab.on_gpu.reset(new OnGpu{problem_of(lab.flags, sides)});
  OnGpu& g = *lab.on_gpu;
  const lab::Kernel cublas{.gpu = std::bind_front(gpu::cublas_sgemm, /*tf32=*/false)};
  const lab::Means means{.on_gpu = &g.matrices, .repetitions = lab.flags.reps.value_or(0)};
  g.cublas_row = lab::Row{lab::measure(g.problem, cublas, means, g.cublas)};
  g.cublas_row.name = "cuBLAS fp32";
  return g;
}

void time_launch(Laboratory& lab, const model::Variant& variant, const Sides& sides, Trial& trial) {
  OnGpu& g = on_gpu(lab, sides);
  gpu::allow_shared_bytes(
      trial.row.aligned ? variant.kernel.function : variant.kernel_any.function,
      variant.shared_bytes);
  const lab::Means means{
      .on_gpu = &g.matrices, .repetitions = lab.flags.reps.value_or(0), .cublas = &g.cublas};
  lab::Floats result;
  const lab::Measurement measured = lab::measure(
      g.problem,
      {.gpu = lab::gemm_of(own_table(), variant, lab.about.gpu.sms),
       .gpu_again = lab::gemm_again_of(own_table(), variant, lab.about.gpu.sms)},
      means, result);
  trial.row.cublas_error = measured.cublas_error;
  trial.row.time = measured.time;
  trial.run.rows = {g.cublas_row};
}

// The variants to which the trials' rows point.
using Variants = std::vector<std::unique_ptr<model::Variant>>;

Trial make_trial(Laboratory& lab, const Launch& launch, const Sides& sides, Variants& variants) {
  require_memory_for(lab, sides);
  const Place place = find(launch.stage, launch.variant);
  const model::Stage& stage = own_table().stages[place.stage];
  variants.push_back(
      std::make_unique<model::Variant>(variant_in(own_table(), place, launch.padding_bytes)));
  const model::Variant& variant = *variants.back();

  Trial trial{launch.setting, lab.about, {}};
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
  const model::Variant traced = variant_in(experiment_table_traced, place, launch.padding_bytes);
  row.counts = trace_launch(lab, traced, sides, row);
  if (!row.counts->hazards.empty()) {
    const model::KernelRef& ran = row.aligned ? traced.kernel : traced.kernel_any;
    lab::annotate(row, reinterpret_cast<const void*>(ran.function));
  }
  row.occupancy = lab::occupancy_of(lab.flags, trial.run, variant, kernel);
  if (lab.about.gpu_present) time_launch(lab, variant, sides, trial);
  return trial;
}

// Whether the result is right; prints where it is wrong.
bool is_right(const Trial& trial) {
  // Two fp32 products of random matrices differ by at most a few 1e-6, whatever their order.
  constexpr double kFromCublas = 1e-4;
  const lab::Row& row = trial.row;
  const bool near_cublas = !row.cublas_error || *row.cublas_error <= kFromCublas;
  if (row.error->bound_ok && near_cublas) return true;
  std::fprintf(
      stderr, "gemm_steps: %s (%s) is wrong: it does not compute the product of %s\n",
      row.name.c_str(), trial.setting.c_str(), near_cublas ? "the fp64 reference" : "cuBLAS");
  return false;
}

}  // namespace

int run_experiment(const flags::Flags& flags, const std::string& command) {
  if (flags.experiment == "list") return print_experiments(stdout, flags.format), 0;
  const Experiment& experiment = find_experiment(flags.experiment);
  refuse_useless_flags(flags, experiment);

  Laboratory lab{flags, lab::new_run(flags, lab::choose_device(flags), command), nullptr};
  const lab::Run& about = lab.about;
  const Sides problem = sides_of(flags, experiment);

  std::vector<Trial> trials;
  Variants variants;
  {
    const std::vector<Launch> launches = launches_of(flags, about, experiment);
    lab::Progress progress(experiment.name, static_cast<std::int64_t>(launches.size()));
    for (const Launch& launch : launches) {
      trials.push_back(make_trial(lab, launch, launch.of.value_or(problem), variants));
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
