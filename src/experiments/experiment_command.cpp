#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "experiments/experiment.h"
#include "flags/flags.h"
#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "lab/measure.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/ceiling.h"
#include "model/refusal.h"
#include "show/report/facts.h"
#include "show/report/known.h"
#include "show/report/quantities.h"
#include "show/report/words.h"
#include "text/echoed.h"
#include "text/numbers.h"

namespace experiments {

namespace {

// The kernels' own copies rather than their traced ones, for registers and names.
const model::StageTable& own_table() {
  return experiment_table != nullptr ? experiment_table() : experiment_table_plain();
}

bool has_own_shapes(const Experiment& experiment) {
  return experiment.otherwise.N == 0;
}

// --m, --n and --k override --size, which overrides the experiment's own sizes.
lab::ProblemSize sides_of(const flags::Flags& flags, const Experiment& experiment) {
  const lab::ProblemSize& otherwise = experiment.otherwise;
  if (has_own_shapes(experiment)) {  // for that many tokens, and of that size
    return {flags.m.value_or(otherwise.M), 0, flags.size.value_or(otherwise.K)};
  }
  return {
      lab::problem_size(flags, otherwise.M).M, lab::problem_size(flags, otherwise.N).N,
      lab::problem_size(flags, otherwise.K).K};
}

// The kernel of an experiment with only one; --stage and --variant choose another. Where the
// experiment has shapes of its own, every row has the same tile.
model::NamedKernel kernel_of(
    const flags::Flags& flags, const model::Gpu& gpu, const Experiment& experiment) {
  if (flags.stage.empty()) {
    return model::find_kernel(own_table(), experiment.one_kernel, experiment.variant);
  }
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  if (chosen.size() != 1 || chosen.front()->variants.empty()) {
    throw model::Refusal(
        "--stage " + text::echoed(flags.stage) + ": --experiment " + experiment.name +
        " tests one kernel; give one stage from 1 on");
  }
  const model::Stage& stage = model::find_kernel(own_table(), chosen.front()->number).stage;
  const auto [M, N, K] = sides_of(flags, experiment);
  return {
      stage, has_own_shapes(experiment)
                 ? flags::select_variant(stage, flags.variant)
                 : flags::select_variant(stage, flags.variant, gpu, M, N, K)};
}

// Throws a Refusal that lists all experiments if there is none with that name.
const Experiment& find_experiment(const std::string& name) {
  std::string names;
  for (const Experiment& experiment : experiments()) {
    if (name == experiment.name) return experiment;
    names += std::string(names.empty() ? "" : ", ") + experiment.name;
  }
  throw model::Refusal(
      "--experiment " + text::echoed(name) + ": there is no such experiment; choose one of " +
      names + " or list");
}

void refuse_useless_flags(const flags::Flags& flags, const Experiment& experiment) {
  const std::string name = std::string("--experiment ") + experiment.name;
  if (!flags.variant.empty() && experiment.one_kernel == 0) {
    throw model::Refusal(name + " chooses its variants itself; leave --variant out");
  }
  if (has_own_shapes(experiment) && (flags.n || flags.k)) {
    throw model::Refusal(
        name +
        " has its own shapes; leave --n and --k out, and give --size for the "
        "squares or --m for the tokens");
  }
}

// The experiment's launches, or those of --stage. `about` has the GPU.
std::vector<PlannedLaunch> launches_of(
    const flags::Flags& flags, const lab::Run& about, const Experiment& experiment) {
  Plan plan{sides_of(flags, experiment), about.gpu, nullptr, nullptr, std::nullopt};
  if (experiment.one_kernel > 0) {
    const model::NamedKernel chosen = kernel_of(flags, about.gpu, experiment);
    plan.stage = &chosen.stage;
    plan.variant = &chosen.variant;
    plan.occupancy = lab::occupancy_of(flags, about, *plan.variant, plan.variant->kernel);
    return experiment.launches(plan);
  }
  std::vector<PlannedLaunch> launches = experiment.launches(plan);
  if (flags.stage.empty()) return launches;
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  std::erase_if(launches, [&](const PlannedLaunch& launch) {
    return std::none_of(chosen.begin(), chosen.end(), [&](const model::Stage* stage) {
      return stage->number == launch.stage;
    });
  });
  if (launches.empty()) {
    throw model::Refusal(
        "--stage " + text::echoed(flags.stage) + ": --experiment " + experiment.name +
        " has no row of that stage; leave --stage out");
  }
  return launches;
}

// The columns of all experiments come last; those of times only if all trials have one.
std::vector<const report::Quantity*> columns_of(
    const Experiment& experiment, std::span<const Trial> trials, bool all) {
  auto columns = report::quantities(
      experiment.columns + std::string(" figures.ceiling_tflops figures.ceiling_bound_by ") +
      "figures.median_ms figures.measured_tflops figures.of_cublas");
  std::erase_if(columns, [&](const report::Quantity* quantity) {
    return !all && quantity->column.in == report::Column::In::timed && !is_timed(trials);
  });
  return columns;
}

// The order for the table. A conclusion uses the order of the launches.
std::vector<const Trial*> in_order(const Experiment& experiment, std::span<const Trial> trials) {
  std::vector<const Trial*> sorted;
  for (const Trial& trial : trials) sorted.push_back(&trial);
  if (experiment.best_first) {
    std::stable_sort(sorted.begin(), sorted.end(), [](const Trial* a, const Trial* b) {
      return speed(*a) > speed(*b);
    });
  }
  return sorted;
}

bool all_of_one_problem(std::span<const Trial> trials) {
  return std::all_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    const lab::Run& a = trial.run;
    const lab::Run& b = trials.front().run;
    return a.M == b.M && a.N == b.N && a.K == b.K;
  });
}

std::string about(
    const Experiment& experiment, const lab::Run& run, std::span<const Trial> trials) {
  constexpr int kTerm = 11;
  const model::Gpu& gpu = run.gpu;
  const int cc = gpu.compute_capability;
  std::string text = text::labelled("experiment", kTerm, experiment.name) +
                     text::labelled("question", kTerm, experiment.question);
  if (!trials.empty() && all_of_one_problem(trials)) {
    text += text::labelled(
        "problem", kTerm,
        lab::product(trials.front().run) + text::printed(", fp32, seed %llu", run.seed));
  }
  text += text::labelled(
      "GPU", kTerm,
      gpu.name + text::printed(", %d SMs, cc %d.%d", gpu.sms, cc / 10, cc % 10) +
          (run.gpu_present ? ""
                           : ": not present, so some blocks are traced on the CPU and "
                             "nothing is timed"));
  if (run.gpu_present) {
    text += text::labelled("driver", kTerm, run.driver) +
            text::labelled(
                "run", kTerm, run.date + ", " + text::echoed(run.command, 2 * text::kReportWidth));
    std::vector<model::DeviceState> states;
    for (const Trial& trial : trials) {
      if (trial.row.time && trial.row.time->device) states.push_back(*trial.row.time->device);
    }
    const std::optional<model::DeviceState> all = model::together(states);
    if (all) text += text::labelled("clocks", kTerm, report::clocks_words(*all));
  }
  return text;
}

// As many columns from `first` on as fit beside the setting, one at least.
std::size_t last_that_fits(const std::vector<int>& widths, std::size_t first) {
  int width = -widths[0];
  std::size_t last = first;
  while (last < widths.size() &&
         (last == first || width + 1 + widths[last] <= text::report_width())) {
    width += 1 + widths[last++];
  }
  return last;
}

std::string as_table(
    const Experiment& experiment, std::span<const Trial> trials, text::Style style) {
  std::vector<text::Cells> lines = {{""}, {experiment.setting}};
  const auto columns = columns_of(experiment, trials, false);
  for (const report::Quantity* quantity : columns) {
    lines[0].push_back(quantity->column.top);
    lines[1].push_back(quantity->column.bottom);
  }
  for (const Trial* trial : in_order(experiment, trials)) {
    const report::Known known(trial->run, trial->row);
    lines.push_back({trial->setting});
    for (const report::Quantity* column : columns) lines.back().push_back(cell_of(*column, known));
  }
  const std::vector<int> widths = text::widths_of(lines);
  // Where the terminal is too narrow, the other columns stand below.
  std::string text;
  for (std::size_t first = 1, last; first < widths.size(); first = last) {
    last = last_that_fits(widths, first);
    if (first > 1) text += "\n";
    const auto part = [&](const auto& of) {
      std::vector some{of[0]};
      some.insert(some.end(), of.begin() + first, of.begin() + last);
      return some;
    };
    for (const text::Cells& cells : lines) {
      const bool heading = &cells - lines.data() < 2;
      std::string written = text::in_columns(part(cells), part(widths));
      written.pop_back();
      text += (heading ? text::coloured(written, text::Colour::bold, style) : written) + "\n";
    }
  }
  return text;
}

std::string legend(const Experiment& experiment, std::span<const Trial> trials) {
  constexpr int kTerm = 9;
  std::string text;
  if (experiment.note) text += text::labelled(experiment.setting, kTerm, experiment.note);
  for (const report::Quantity* quantity : columns_of(experiment, trials, false)) {
    if (quantity->legend.words.empty()) continue;
    const report::Column& column = quantity->column;
    const std::string term = *column.top ? column.top : column.bottom;
    text += text::labelled(text::shortened(term, kTerm - 1), kTerm, quantity->legend.words);
  }
  return text;
}

std::vector<report::Fact> facts_of(const Experiment& experiment, const Trial& trial) {
  std::vector<report::Fact> facts = {
      {"setting", trial.setting}, {"M", trial.run.M}, {"N", trial.run.N}, {"K", trial.run.K}};
  const report::Known known(trial.run, trial.row);
  for (const report::Quantity* quantity : columns_of(experiment, {}, true)) {
    if (!quantity->path.starts_with("figures.")) continue;
    facts.push_back({quantity->path, quantity->value(known)});
  }
  for (report::Fact& fact : report::stage_facts(trial.run, trial.row))
    facts.push_back(std::move(fact));
  return facts;
}

}  // namespace

void print_experiment(
    std::FILE* out, const Experiment& experiment, const lab::Run& run,
    std::span<const Trial> trials, flags::Format format, text::Style style) {
  std::string text;
  if (format == flags::Format::table) {
    text = about(experiment, run, trials) + "\n" + as_table(experiment, trials, style) + "\n" +
           legend(experiment, trials) + "\n";
    for (const std::string& words :
         text::wrapped(conclusion(experiment, trials), text::report_width())) {
      text += text::coloured(words, text::Colour::bold, style) + "\n";
    }
  } else {
    std::vector<std::vector<report::Fact>> all;
    for (const Trial* trial : in_order(experiment, trials)) {
      all.push_back(facts_of(experiment, *trial));
    }
    if (format == flags::Format::json) {
      std::vector<report::Fact> facts = {
          {"experiment", experiment.name}, {"question", experiment.question}};
      for (report::Fact& fact : report::run_facts(run)) {
        if (!fact.path.starts_with("problem.")) facts.push_back(std::move(fact));
      }
      facts.push_back({"alpha", double{run.alpha}});
      facts.push_back({"beta", double{run.beta}});
      facts.push_back({"seed", std::uint64_t{run.seed}});
      text = "{\n  " + report::json_members(facts) + ",\n" + report::json_array("trials", all) +
             ",\n  " + report::json_members({{"conclusion", conclusion(experiment, trials)}}) +
             "\n}\n";
    } else {
      for (const std::vector<report::Fact>& facts : all) {
        if (&facts == all.data()) text += report::csv_names(facts);
        text += report::csv_values(facts);
      }
    }
  }
  std::fputs(text.c_str(), out);
}

namespace {

// --experiment list
void print_experiments(flags::Format format) {
  constexpr int kTerm = 14;
  std::string text;
  std::vector<std::vector<report::Fact>> all;
  for (const Experiment& experiment : experiments()) {
    text += text::labelled(experiment.name, kTerm, experiment.question);
    all.push_back({{"experiment", experiment.name}, {"question", experiment.question}});
  }
  if (format == flags::Format::json) {
    text = "{\n" + report::json_array("experiments", all) + "\n}\n";
  } else if (format == flags::Format::csv) {
    text = report::csv_names(all.front());
    for (const std::vector<report::Fact>& facts : all) text += report::csv_values(facts);
  }
  std::fputs(text.c_str(), stdout);
}

// What all launches of one problem share.
struct Shared {
  lab::LongProduct counted;
  // Only with a GPU: A, B and C on it, and cuBLAS's result.
  std::optional<lab::Problem> problem = {};
  std::optional<lab::OnGpu> on_gpu = {};
  lab::Floats cublas = {};
  lab::Row cublas_row = {};
};

// What every trial needs.
struct Laboratory {
  const flags::Flags& flags;
  lab::Run about;                      // the last launch's problem
  std::unique_ptr<Shared> of_problem;  // of that problem; null: none yet
};

lab::Problem problem_of(const Laboratory& lab) {
  return lab::random_problem(
      {lab.about.M, lab.about.N, lab.about.K}, lab.flags.alpha, lab.flags.beta, lab.flags.seed);
}

model::Counts trace_launch(Laboratory& lab, const model::Variant& variant) {
  const model::Gpu& gpu = lab.about.gpu;
  const machine::Machine machine = lab::machine_for(lab.flags, gpu);
  const model::StageTable& table = experiment_table_traced();
  if (lab.flags.trace != lab::Trace::all) {
    return lab.of_problem->counted.count(table, variant, machine);
  }
  const lab::Problem p = problem_of(lab);
  lab::Floats C;
  return *lab::measure(
              p,
              {.traced = lab::gemm_of(table, variant, gpu.sms),
               .sample = lab::sample_of(p, variant, gpu.sms)},
              {.machine = machine}, C)
              .counts;
}

// Copies the matrices of a new problem to the GPU, and times cuBLAS.
void take(Laboratory& lab, const lab::ProblemSize& sides) {
  lab::Run& about = lab.about;
  if (lab.of_problem && about.M == sides.M && about.N == sides.N && about.K == sides.K) return;
  about.M = sides.M;
  about.N = sides.N;
  about.K = sides.K;
  lab.of_problem.reset();  // first, so that two never exist at once
  lab.of_problem.reset(new Shared{lab::LongProduct(lab.flags, sides)});
  if (!about.gpu_present && lab.flags.trace != lab::Trace::all) return;
  const double bytes = 4.0 * ((1.0 * sides.M + sides.N) * sides.K + 1.0 * sides.M * sides.N);
  const std::string what =
      text::printed("a product of %d x %d by %d x %d", sides.M, sides.K, sides.K, sides.N);
  lab::require_memory(2 * bytes, lab::available_memory(), what, "A, B and C");
  if (!about.gpu_present) return;
  lab::require_memory(bytes, gpu::free_bytes(), what, "A, B and C on the GPU");
  Shared& of = *lab.of_problem;
  of.on_gpu.emplace(of.problem.emplace(problem_of(lab)));
  const lab::Kernel cublas{.gpu = std::bind_front(gpu::cublas_sgemm, /*tf32=*/false)};
  const lab::Means means{.on_gpu = &*of.on_gpu, .repetitions = lab.flags.reps.value_or(0)};
  of.cublas_row = lab::Row{lab::measure(*of.problem, cublas, means, of.cublas)};
  of.cublas_row.name = "cuBLAS fp32";
}

void time_launch(Laboratory& lab, const model::Variant& variant, Trial& trial) {
  Shared& of = *lab.of_problem;
  gpu::allow_shared_bytes(
      trial.row.aligned ? variant.kernel.function : variant.kernel_any.function,
      variant.shared_bytes);
  const lab::Means means{
      .on_gpu = &*of.on_gpu, .repetitions = lab.flags.reps.value_or(0), .cublas = &of.cublas};
  lab::Floats result;
  const lab::Measurement measured = lab::measure(
      *of.problem,
      {.gpu = lab::gemm_of(own_table(), variant, lab.about.gpu.sms),
       .gpu_again =
           lab::gemm_of(own_table(), variant, lab.about.gpu.sms, model::Makes::product_again)},
      means, result);
  trial.row.cublas_error = measured.cublas_error;
  trial.row.time = measured.time;
  trial.run.rows = {of.cublas_row};
}

Trial make_trial(Laboratory& lab, const PlannedLaunch& launch, const lab::ProblemSize& sides) {
  take(lab, sides);
  const auto with_padding = [&](const model::StageTable& table) {
    model::Variant variant = model::find_kernel(table, launch.stage, launch.variant).variant;
    variant.shared_bytes += launch.padding_bytes;
    return variant;
  };
  const model::Stage& stage = model::find_kernel(own_table(), launch.stage, launch.variant).stage;
  Trial trial{
      launch.setting, lab.about, {}, std::make_shared<model::Variant>(with_padding(own_table()))};
  const model::Variant& variant = *trial.variant;
  lab::Row& row = trial.row;
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &variant;

  const int K_read = lab.flags.alpha == 0 ? 0 : sides.K;
  const model::KernelRef& kernel =
      model::kernel_for(variant, sides.N, K_read, nullptr, nullptr, nullptr);
  row.aligned = &kernel == &variant.kernel;
  const model::Variant traced = with_padding(experiment_table_traced());
  row.counts = trace_launch(lab, traced);
  if (!row.counts->hazards.empty()) {
    const model::KernelRef& ran = row.aligned ? traced.kernel : traced.kernel_any;
    lab::annotate(row, ran.function);
  }
  row.occupancy = lab::occupancy_of(lab.flags, trial.run, variant, kernel);
  if (lab.about.gpu_present) time_launch(lab, variant, trial);
  return trial;
}

// Whether the result is cuBLAS's, if it was computed; prints a sentence if not.
bool is_right(const Trial& trial) {
  // Two fp32 products of random matrices differ by at most a few 1e-6, whatever their order, and
  // rounded inputs add less than their unit roundoff.
  const double most = 1e-4 + trial.row.stage->precision.u_in;
  if (trial.row.cublas_error.value_or(0) <= most) return true;
  std::fprintf(
      stderr, "gemm_steps: %s (%s) is wrong: it does not compute the product of cuBLAS\n",
      trial.row.name.c_str(), trial.setting.c_str());
  return false;
}

}  // namespace

int run_experiment(const flags::Flags& flags, const std::string& command) {
  if (flags.experiment == "list") return print_experiments(flags.format), 0;
  const Experiment& experiment = find_experiment(flags.experiment);
  refuse_useless_flags(flags, experiment);

  Laboratory lab{flags, lab::new_run(flags, lab::choose_device(flags), command), nullptr};
  const lab::Run& about = lab.about;
  const lab::ProblemSize problem = sides_of(flags, experiment);

  std::vector<Trial> trials;
  {
    const std::vector<PlannedLaunch> launches = launches_of(flags, about, experiment);
    lab::Progress progress(experiment.name, static_cast<std::int64_t>(launches.size()));
    for (const PlannedLaunch& launch : launches) {
      trials.push_back(make_trial(lab, launch, launch.of.value_or(problem)));
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
