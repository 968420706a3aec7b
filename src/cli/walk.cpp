#include "cli/walk.h"
#include "lab/stage_tables.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "cpu_reference.h"
#include "experiments/experiment_command.h"
#include "flags/flags.h"
#include "gpu/gpu.h"
#include "lab/npy.h"
#include "lab/problem.h"
#include "lab/progress.h"
#include "lab/remedy.h"
#include "model/refusal.h"
#include "pictures/figures_command.h"
#include "profile/profile.h"
#include "report/hazard_sentence.h"
#include "report/report.h"
#include "step/step_command.h"
#include "trace/source_lines.h"
#include "trace/trace.h"

namespace cli {

namespace {

constexpr const char* kVersion = "gemm_steps 1.0";
// The problem's matrices in the GPU's memory.
struct OnGpu {
  gpu::Matrix A, B, C;
};

// What every row of the table needs.
struct Ladder {
  flags::Flags flags;
  lab::Problem problem;
  lab::Reference reference;
  std::unique_ptr<OnGpu> on_gpu;  // null: traced on the CPU only
  lab::Floats cublas;             // cuBLAS's result, empty without a GPU
  lab::Run run;
};

// The same stage or variant in another copy of the table.
const model::Variant& same(
    const model::Variant& variant, const model::StageTable& from, const model::StageTable& to) {
  for (std::size_t s = 0; s < from.stages.size(); ++s) {
    for (std::size_t v = 0; v < from.stages[s].variants.size(); ++v) {
      if (&from.stages[s].variants[v] == &variant) return to.stages[s].variants[v];
    }
  }
  throw std::logic_error("a variant of another table");
}

double milliseconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::milli>(end - start).count();
}

// Compares the first `rows` rows of a computed C with the reference.
void check_result(
    const Ladder& ladder, const lab::Floats& C, int rows, model::Precision precision,
    lab::Row& row) {
  const lab::Problem& p = ladder.problem;
  row.error = model::compare(
      rows, p.N, p.K, C.data(), ladder.reference.exact.data(), ladder.reference.magnitude.data(),
      p.beta, p.beta == 0 ? nullptr : p.C.data(), precision, p.alpha);
  if (!ladder.cublas.empty() && rows == p.M) {
    row.cublas_error = lab::relative_difference(C, ladder.cublas);
  }
}

// A row of the table that the CPU computes. At large sizes only the first rows of C are, and the
// time is scaled up.
using CpuGemm = void(int, int, int, float, const float*, const float*, float, float*);
lab::Row cpu_row(
    const Ladder& ladder, CpuGemm* gemm, double affordable_multiplications, lab::Floats& result) {
  const lab::Problem& p = ladder.problem;
  const double in_a_row = std::max(1.0, double(p.N) * p.K);
  const int rows = static_cast<int>(
      std::clamp(affordable_multiplications / in_a_row, std::min(1.0, double(p.M)), double(p.M)));
  result = p.C;
  const auto compute = [&](lab::Floats& C) {
    gemm(rows, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
  };
  const double scale = rows == 0 ? 1 : double(p.M) / rows;
  std::vector<double> times_ms{scale * milliseconds_of([&] { compute(result); })};
  // Short ones again, because the first also pays for waking the threads and for cold caches.
  constexpr double kLongMs = 200;
  if (times_ms.front() < kLongMs) {
    lab::Floats scratch = p.C;
    for (double& ms : times_ms = std::vector<double>(5)) {
      ms = milliseconds_of([&] { compute(scratch); });
    }
  }
  lab::Row row;
  row.time = lab::summary(times_ms);
  row.time->partial = rows < p.M;
  check_result(ladder, result, rows, model::kFp32, row);
  return row;
}

lab::Row serial_row(const Ladder& ladder, const model::Stage& stage, lab::Floats& result) {
  constexpr double kAboutASecond = 0x1p29;
  lab::Row row = cpu_row(ladder, serial_gemm, kAboutASecond, result);
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  return row;
}

lab::Row openmp_row(const Ladder& ladder) {
  constexpr double kAFewSeconds = 0x1p36;
  lab::Floats result;
  lab::Row row = cpu_row(ladder, openmp_gemm, kAFewSeconds, result);
  row.name = "OpenMP CPU";
  return row;
}

lab::Row cublas_row(const Ladder& ladder, bool tf32, lab::Floats& result) {
  const lab::Problem& p = ladder.problem;
  OnGpu& g = *ladder.on_gpu;
  const auto compute = [&] {
    gpu::cublas_sgemm(tf32, p.M, p.N, p.K, p.alpha, g.A.data(), g.B.data(), p.beta, g.C.data());
  };
  lab::Row row;
  row.name = tf32 ? "cuBLAS tf32" : "cuBLAS fp32";
  g.C.upload(p.C.data());
  compute();
  gpu::synchronize();
  result = p.C;
  g.C.download(result.data());
  check_result(ladder, result, p.M, tf32 ? model::kTf32 : model::kFp32, row);
  row.time = lab::summary(gpu::time_ms(ladder.flags.reps.value_or(0), compute));
  return row;
}

void run_on_gpu(
    const Ladder& ladder, const model::StageTable& table, const model::Variant& variant,
    lab::Floats& result, lab::Row& row) {
  const lab::Problem& p = ladder.problem;
  OnGpu& g = *ladder.on_gpu;
  const auto compute = [&] {
    table.run(variant, p.M, p.N, p.K, p.alpha, g.A.data(), g.B.data(), p.beta, g.C.data());
  };
  g.C.upload(p.C.data());
  compute();
  gpu::synchronize();
  g.C.download(result.data());
  row.time = lab::summary(gpu::time_ms(ladder.flags.reps.value_or(0), compute));
}

const model::KernelRef& kernel_of(
    const Ladder& ladder, const model::StageTable& table, const model::Variant& variant) {
  const lab::Problem& p = ladder.problem;
  const int K_read = p.alpha == 0 ? 0 : p.K;
  return table.kernel_for(variant, p.N, K_read, p.A.data(), p.B.data(), p.C.data());
}

bool is_explained(const flags::Flags& flags) {
  return flags.explain && flags.format != report::Format::json &&
         flags.format != report::Format::csv;
}

// Where the kernel of the stage before stands, for the lines that changed since.
void annotate_stage_before(const Ladder& ladder, lab::Row& row) {
  for (const model::Stage& stage : stage_table_traced.stages) {
    if (stage.number != row.before_number || stage.variants.empty()) continue;
    const model::KernelRef& kernel = kernel_of(ladder, stage_table_traced, stage.variants.front());
    const trace::SourceRange lines =
        trace::kernel_lines(reinterpret_cast<const void*>(kernel.function));
    row.before_name = stage.name;
    row.before_kernel = kernel.name;
    row.before_first = lines.first;
    row.before_last = lines.last;
  }
}

// Traces the sampled blocks, or all, and computes the others without tracing where the GPU did not.
void run_on_cpu(
    const Ladder& ladder, const model::StageTable& table, const model::Variant& variant,
    lab::Floats& result, lab::Row& row) {
  const lab::Problem& p = ladder.problem;
  const auto bytes = [](const lab::Floats& matrix) { return matrix.size() * sizeof(float); };
  const machine::GlobalArray arrays[] = {
      {"A", p.A.data(), bytes(p.A)},
      {"B", p.B.data(), bytes(p.B)},
      {"C", result.data(), bytes(result), true, p.must_be_written()}};
  const auto compute_with = [&](const model::StageTable& copy) {
    const model::Variant& its_variant = same(variant, table, copy);
    return [&] {
      copy.run(its_variant, p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, result.data());
    };
  };
  const std::int64_t blocks =
      std::int64_t{(p.M + variant.BM - 1) / variant.BM} * ((p.N + variant.BN - 1) / variant.BN);
  lab::Progress progress(row.name, blocks);
  machine::Machine machine{
      &ladder.run.gpu, machine::Blocks::kSample, ladder.flags.hazards,
      [&](std::int64_t done) { progress.advance(done); }};
  if (ladder.flags.trace == lab::Trace::all) machine.blocks = machine::Blocks::kAll;
  machine.arrays = arrays;
  row.counts = trace::trace(machine, arrays, compute_with(stage_table_traced));
  if (machine.blocks != machine::Blocks::kAll && !ladder.on_gpu && !model::has_fatal(*row.counts)) {
    machine.blocks = machine::Blocks::kAllButSample;
    const auto stray = machine::run(machine, compute_with(stage_table_plain));
    row.counts->hazards.insert(row.counts->hazards.end(), stray.begin(), stray.end());
    lab::note_never_written(p, result, row);
  }
  if (ladder.flags.explain || ladder.flags.format == report::Format::json ||
      !row.counts->hazards.empty()) {
    const model::Variant& traced = same(variant, table, stage_table_traced);
    const model::KernelRef& kernel = kernel_of(ladder, stage_table_traced, traced);
    lab::annotate(row, reinterpret_cast<const void*>(kernel.function));
    if (is_explained(ladder.flags)) {
      row.remedy = lab::find_remedy(p, ladder.run.gpu, stage_table_traced, row);
      annotate_stage_before(ladder, row);
    }
  }
}

lab::Row stage_row(
    const Ladder& ladder, const model::StageTable& table, const model::Stage& stage,
    const model::Variant& variant, lab::Floats& result) {
  const lab::Problem& p = ladder.problem;
  lab::Row row;
  row.number = stage.number;
  if (&stage != table.stages.data()) row.before_number = (&stage - 1)->number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &variant;
  result = p.C;
  run_on_cpu(ladder, table, variant, result, row);
  // What reaches out of bounds here would do so there, and its result is none.
  const bool abandoned = model::has_fatal(*row.counts);
  if (ladder.on_gpu && !abandoned) run_on_gpu(ladder, table, variant, result, row);
  const model::KernelRef& kernel = kernel_of(ladder, table, variant);
  row.aligned = &kernel == &variant.kernel;
  row.occupancy = lab::occupancy_of(ladder.flags, ladder.run, variant, kernel);
  if (!abandoned) check_result(ladder, result, p.M, stage.precision, row);
  return row;
}

std::unique_ptr<OnGpu> upload(const lab::Problem& p) {
  std::unique_ptr<OnGpu> g(
      new OnGpu{gpu::Matrix(p.A.size()), gpu::Matrix(p.B.size()), gpu::Matrix(p.results())});
  g->A.upload(p.A.data());
  g->B.upload(p.B.data());
  return g;
}

// Runs all rows; `result` is left with what the last stage computed.
void climb(
    Ladder& ladder, const model::StageTable& table, const std::vector<const model::Stage*>& stages,
    lab::Floats& result) {
  std::vector<lab::Row> yardsticks;
  if (ladder.on_gpu) {
    yardsticks.push_back(cublas_row(ladder, false, ladder.cublas));
    lab::Floats tf32;
    yardsticks.push_back(cublas_row(ladder, true, tf32));
  }
  for (const model::Stage* stage : stages) {
    if (stage->variants.empty()) {
      ladder.run.rows.push_back(serial_row(ladder, *stage, result));
    } else {
      const model::Variant& variant = flags::select_variant(*stage, ladder.flags.variant);
      ladder.run.rows.push_back(stage_row(ladder, table, *stage, variant, result));
    }
    const bool whole_ladder = ladder.flags.stage.empty();
    if (whole_ladder && stage->variants.empty()) ladder.run.rows.push_back(openmp_row(ladder));
  }
  ladder.run.rows.insert(ladder.run.rows.end(), yardsticks.begin(), yardsticks.end());
}

void print(const Ladder& ladder) {
  const lab::Run& run = ladder.run;
  if (ladder.flags.format == report::Format::json) return report::print_json(stdout, run);
  if (ladder.flags.format == report::Format::csv) return report::print_csv(stdout, run);
  const text::Style style{flags::wants_colour(ladder.flags, stdout)};
  if (!ladder.flags.explain) return report::print_table(stdout, run, style);
  const report::Explaining how = flags::explaining(ladder.flags);
  for (const lab::Row& row : run.rows) {
    if (row.stage != nullptr && !report::explain(stdout, run, row, style, how)) return;
  }
}

// Names every hazard, which says why, and then every wrong result with its first wrong element.
// Returns whether there is one of either.
bool report_failures(const lab::Run& run) {
  bool failed = report::report_hazards("gemm_steps", run);
  for (const lab::Row& row : run.rows) {
    if (!row.error || row.error->bound_ok) continue;
    failed = true;
    const model::Mismatch& first = row.error->first.value();
    std::fprintf(
        stderr, "gemm_steps: %s is wrong: row %lld, column %lld is %.9g, but should be %.9g\n",
        row.name.c_str(), static_cast<long long>(first.row), static_cast<long long>(first.column),
        first.value, first.expected);
  }
  return failed;
}

int run_program(int argc, char** argv, const model::StageTable& table) {
  const flags::Flags flags = flags::parse_flags(argc, argv);
  if (flags.help) return std::fputs(flags::help_text(), stdout), 0;
  if (flags.version) return std::puts(kVersion), 0;
  if (flags.ncu_metrics) return std::puts(profile::ncu_metrics().c_str()), 0;
  if (flags.ncu_unit_metrics) return std::puts(profile::ncu_unit_metrics().c_str()), 0;
  if (flags.step) return step::step_stages(flags, stage_table_traced);
  if (flags.list) return report::print_list(stdout, table.stages, flags.format), 0;
  if (!flags.figures.empty()) return pictures::draw_figures(flags.figures, stage_table_traced), 0;
  if (!flags.experiment.empty()) return experiments::run_experiment(flags, lab::joined(argc, argv));

  const std::vector<const model::Stage*> stages = flags::select_stages(flags.stage, table.stages);
  for (const model::Stage* stage : stages) {
    if (!flags.variant.empty()) flags::select_variant(*stage, flags.variant);
  }
  if (!flags.out.empty()) lab::check_writable(flags.out);

  Ladder ladder;
  ladder.flags = flags;
  lab::Run& run = ladder.run;
  run.gpu_present = lab::choose_device(flags);
  run.gpu = lab::choose_model(flags, run.gpu_present);
  ladder.problem = lab::load_problem(flags, run.gpu_present);
  const lab::Problem& p = ladder.problem;
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;
  run.alpha = p.alpha;
  run.beta = p.beta;
  run.seed = flags.seed;
  run.command = lab::joined(argc, argv);
  run.date = lab::now_utc();
  if (run.gpu_present) {
    run.driver = gpu::driver_and_runtime();
    ladder.on_gpu = upload(p);
  }
  if (!run.gpu_present && flags.device == lab::Device::automatic) {
    std::fprintf(
        stderr, "No GPU (%s): the kernels run on the CPU, traced and not timed.\n",
        gpu::find().why_not.c_str());
  }
  ladder.reference = lab::compute_reference(p);

  lab::Floats result;
  climb(ladder, table, stages, result);
  const bool has_result =
      run.rows.empty() || !model::has_fatal(run.rows.back().counts.value_or(model::Counts{}));
  if (!flags.out.empty() && has_result) lab::write_npy(flags.out, p.M, p.N, result.data());
  bool agrees = true;
  const auto opened = [](const char* flag, const std::string& path) {
    std::ifstream file(path);
    if (!file) throw model::Refusal(std::string(flag) + " " + path + ": cannot be read");
    return file;
  };
  if (!flags.ncu.empty()) {
    std::ifstream ncu_csv = opened("--ncu", flags.ncu);
    agrees = profile::print_profile(stdout, ncu_csv, run);
  } else if (!flags.ncu_units.empty()) {
    std::ifstream ncu_csv = opened("--ncu-units", flags.ncu_units);
    agrees = profile::print_units(stdout, ncu_csv, run);
  } else {
    print(ladder);
  }
  return report_failures(run) || !agrees ? 1 : 0;
}

}  // namespace

int walk(int argc, char** argv, const model::StageTable& stages) {
  try {
    return run_program(argc, argv, stages);
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "gemm_steps: %s\n", refusal.what());
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "gemm_steps: %s\n", fault.what());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gemm_steps: there is not enough memory; choose a smaller --size\n");
  }
  return 2;
}

}  // namespace cli
