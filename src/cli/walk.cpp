#include "cli/walk.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "pictures/figures_command.h"
#include "experiments/experiment_command.h"
#include "cli/flags.h"
#include "lab/npy.h"
#include "lab/problem.h"
#include "lab/progress.h"
#include "lab/remedy.h"
#include "step/step_command.h"
#include "cpu_reference.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "report/report.h"
#include "gpu/gpu.h"
#include "trace/source_lines.h"
#include "trace/trace.h"

namespace {

constexpr const char* kVersion = "gemm_steps 1.0";
// The problem's matrices in the GPU's memory.
struct OnGpu {
  gpu::Matrix A, B, C;
};

// What every row of the table needs.
struct Ladder {
  Flags flags;
  Problem problem;
  Reference reference;
  std::unique_ptr<OnGpu> on_gpu;  // null: traced on the CPU only
  Floats cublas;                  // cuBLAS's result, empty without a GPU
  Run run;
};

// The same stage or variant in another copy of the table.
const Variant& same(const Variant& variant, const StageTable& from, const StageTable& to) {
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
void check_result(const Ladder& ladder, const Floats& C, int rows, Precision precision, Row& row) {
  const Problem& p = ladder.problem;
  row.error = compare(rows, p.N, p.K, C.data(), ladder.reference.exact.data(),
                      ladder.reference.magnitude.data(), p.beta, p.beta == 0 ? nullptr : p.C.data(),
                      precision, p.alpha);
  if (!ladder.cublas.empty() && rows == p.M) {
    row.cublas_error = relative_difference(C, ladder.cublas);
  }
}

// A row of the table that the CPU computes. At large sizes only the first rows of C are, and the
// time is scaled up.
using CpuGemm = void(int, int, int, float, const float*, const float*, float, float*);
Row cpu_row(const Ladder& ladder, CpuGemm* gemm, double affordable_multiplications,
            Floats& result) {
  const Problem& p = ladder.problem;
  const double in_a_row = std::max(1.0, double(p.N) * p.K);
  const int rows = static_cast<int>(
      std::clamp(affordable_multiplications / in_a_row, std::min(1.0, double(p.M)), double(p.M)));
  result = p.C;
  const auto compute = [&](Floats& C) {
    gemm(rows, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
  };
  const double scale = rows == 0 ? 1 : double(p.M) / rows;
  std::vector<double> times_ms{scale * milliseconds_of([&] { compute(result); })};
  // Short ones again, because the first also pays for waking the threads and for cold caches.
  constexpr double kLongMs = 200;
  if (times_ms.front() < kLongMs) {
    Floats scratch = p.C;
    for (double& ms : times_ms = std::vector<double>(5)) {
      ms = milliseconds_of([&] { compute(scratch); });
    }
  }
  Row row;
  row.time = summary(times_ms);
  row.time->partial = rows < p.M;
  check_result(ladder, result, rows, kFp32, row);
  return row;
}

Row serial_row(const Ladder& ladder, const Stage& stage, Floats& result) {
  constexpr double kAboutASecond = 0x1p29;
  Row row = cpu_row(ladder, serial_gemm, kAboutASecond, result);
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  return row;
}

Row openmp_row(const Ladder& ladder) {
  constexpr double kAFewSeconds = 0x1p36;
  Floats result;
  Row row = cpu_row(ladder, openmp_gemm, kAFewSeconds, result);
  row.name = "OpenMP CPU";
  return row;
}

Row cublas_row(const Ladder& ladder, bool tf32, Floats& result) {
  const Problem& p = ladder.problem;
  OnGpu& g = *ladder.on_gpu;
  const auto compute = [&] {
    gpu::cublas_sgemm(tf32, p.M, p.N, p.K, p.alpha, g.A.data(), g.B.data(), p.beta, g.C.data());
  };
  Row row;
  row.name = tf32 ? "cuBLAS tf32" : "cuBLAS fp32";
  g.C.upload(p.C.data());
  compute();
  gpu::synchronize();
  result = p.C;
  g.C.download(result.data());
  check_result(ladder, result, p.M, tf32 ? kTf32 : kFp32, row);
  row.time = summary(gpu::time_ms(ladder.flags.reps.value_or(0), compute));
  return row;
}

void run_on_gpu(const Ladder& ladder, const StageTable& table, const Variant& variant,
                Floats& result, Row& row) {
  const Problem& p = ladder.problem;
  OnGpu& g = *ladder.on_gpu;
  const auto compute = [&] {
    table.run(variant, p.M, p.N, p.K, p.alpha, g.A.data(), g.B.data(), p.beta, g.C.data());
  };
  g.C.upload(p.C.data());
  compute();
  gpu::synchronize();
  g.C.download(result.data());
  row.time = summary(gpu::time_ms(ladder.flags.reps.value_or(0), compute));
}

const KernelRef& kernel_of(const Ladder& ladder, const StageTable& table, const Variant& variant) {
  const Problem& p = ladder.problem;
  const int K_read = p.alpha == 0 ? 0 : p.K;
  return table.kernel_for(variant, p.N, K_read, p.A.data(), p.B.data(), p.C.data());
}

bool is_explained(const Flags& flags) {
  return flags.explain && flags.format != Format::json && flags.format != Format::csv;
}

// Where the kernel of the stage before stands, for the lines that changed since.
void annotate_stage_before(const Ladder& ladder, Row& row) {
  for (const Stage& stage : stage_table_traced.stages) {
    if (stage.number != row.number - 1 || stage.variants.empty()) continue;
    const KernelRef& kernel = kernel_of(ladder, stage_table_traced, stage.variants.front());
    const simt::SourceRange lines =
        simt::kernel_lines(reinterpret_cast<const void*>(kernel.function));
    row.before_name = stage.name;
    row.before_kernel = kernel.name;
    row.before_first = lines.first;
    row.before_last = lines.last;
  }
}

// Traces the sampled blocks, or all, and computes the others without tracing where the GPU did not.
void run_on_cpu(const Ladder& ladder, const StageTable& table, const Variant& variant,
                Floats& result, Row& row) {
  const Problem& p = ladder.problem;
  const auto bytes = [](const Floats& matrix) { return matrix.size() * sizeof(float); };
  const simt::GlobalArray arrays[] = {
      {"A", p.A.data(), bytes(p.A)},
      {"B", p.B.data(), bytes(p.B)},
      {"C", result.data(), bytes(result), true, p.must_be_written()}};
  const auto compute_with = [&](const StageTable& copy) {
    const Variant& its_variant = same(variant, table, copy);
    return [&] {
      copy.run(its_variant, p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, result.data());
    };
  };
  const std::int64_t blocks =
      std::int64_t{(p.M + variant.BM - 1) / variant.BM} * ((p.N + variant.BN - 1) / variant.BN);
  Progress progress(row.name, blocks);
  simt::Machine machine{&ladder.run.gpu, simt::Blocks::kSample, ladder.flags.hazards,
                        [&](std::int64_t done) { progress.advance(done); }};
  if (ladder.flags.trace == Trace::all) machine.blocks = simt::Blocks::kAll;
  machine.arrays = arrays;
  row.counts = simt::trace(machine, arrays, compute_with(stage_table_traced));
  if (machine.blocks != simt::Blocks::kAll && !ladder.on_gpu && !has_fatal(*row.counts)) {
    machine.blocks = simt::Blocks::kAllButSample;
    const auto stray = simt::run(machine, compute_with(stage_table_plain));
    row.counts->hazards.insert(row.counts->hazards.end(), stray.begin(), stray.end());
    note_never_written(p, result, row);
  }
  if (ladder.flags.explain || ladder.flags.format == Format::json || !row.counts->hazards.empty()) {
    const Variant& traced = same(variant, table, stage_table_traced);
    const KernelRef& kernel = kernel_of(ladder, stage_table_traced, traced);
    annotate(row, reinterpret_cast<const void*>(kernel.function));
    if (is_explained(ladder.flags)) {
      row.remedy = find_remedy(p, ladder.run.gpu, stage_table_traced, row);
      annotate_stage_before(ladder, row);
    }
  }
}

Row stage_row(const Ladder& ladder, const StageTable& table, const Stage& stage,
              const Variant& variant, Floats& result) {
  const Problem& p = ladder.problem;
  Row row;
  row.number = stage.number;
  row.name = stage.name;
  row.stage = &stage;
  row.variant = &variant;
  result = p.C;
  run_on_cpu(ladder, table, variant, result, row);
  // What reaches out of bounds here would do so there, and its result is none.
  const bool abandoned = has_fatal(*row.counts);
  if (ladder.on_gpu && !abandoned) run_on_gpu(ladder, table, variant, result, row);
  const KernelRef& kernel = kernel_of(ladder, table, variant);
  row.aligned = &kernel == &variant.kernel;
  row.occupancy = occupancy_of(ladder.flags, ladder.run, variant, kernel);
  if (!abandoned) check_result(ladder, result, p.M, kFp32, row);
  return row;
}

std::unique_ptr<OnGpu> upload(const Problem& p) {
  std::unique_ptr<OnGpu> g(
      new OnGpu{gpu::Matrix(p.A.size()), gpu::Matrix(p.B.size()), gpu::Matrix(p.results())});
  g->A.upload(p.A.data());
  g->B.upload(p.B.data());
  return g;
}

// Runs all rows; `result` is left with what the last stage computed.
void climb(Ladder& ladder, const StageTable& table, const std::vector<const Stage*>& stages,
           Floats& result) {
  std::vector<Row> yardsticks;
  if (ladder.on_gpu) {
    yardsticks.push_back(cublas_row(ladder, false, ladder.cublas));
    Floats tf32;
    yardsticks.push_back(cublas_row(ladder, true, tf32));
  }
  for (const Stage* stage : stages) {
    if (stage->variants.empty()) {
      ladder.run.rows.push_back(serial_row(ladder, *stage, result));
    } else {
      const Variant& variant = select_variant(*stage, ladder.flags.variant);
      ladder.run.rows.push_back(stage_row(ladder, table, *stage, variant, result));
    }
    const bool whole_ladder = ladder.flags.stage.empty();
    if (whole_ladder && stage->number == 0) ladder.run.rows.push_back(openmp_row(ladder));
  }
  ladder.run.rows.insert(ladder.run.rows.end(), yardsticks.begin(), yardsticks.end());
}

void print(const Ladder& ladder) {
  const Run& run = ladder.run;
  if (ladder.flags.format == Format::json) return print_json(stdout, run);
  if (ladder.flags.format == Format::csv) return print_csv(stdout, run);
  const Style style{wants_colour(ladder.flags, stdout)};
  if (!ladder.flags.explain) return print_table(stdout, run, style);
  const Explaining how = explaining(ladder.flags);
  for (const Row& row : run.rows) {
    if (row.stage != nullptr && !explain(stdout, run, row, style, how)) return;
  }
}

// Names every hazard, which says why, and then every wrong result with its first wrong element.
// Returns whether there is one of either.
bool report_failures(const Run& run) {
  bool failed = report_hazards("gemm_steps", run);
  for (const Row& row : run.rows) {
    if (!row.error || row.error->bound_ok) continue;
    failed = true;
    const Mismatch& first = row.error->first.value();
    std::fprintf(stderr,
                 "gemm_steps: %s is wrong: row %lld, column %lld is %.9g, but should be %.9g\n",
                 row.name.c_str(), static_cast<long long>(first.row),
                 static_cast<long long>(first.column), first.value, first.expected);
  }
  return failed;
}

int run_program(int argc, char** argv, const StageTable& table) {
  const Flags flags = parse_flags(argc, argv);
  if (flags.help) return std::fputs(help_text(), stdout), 0;
  if (flags.version) return std::puts(kVersion), 0;
  if (flags.ncu_metrics) return std::puts(ncu_metrics().c_str()), 0;
  if (flags.ncu_unit_metrics) return std::puts(ncu_unit_metrics().c_str()), 0;
  if (flags.step) return step_stages(flags, stage_table_traced);
  if (flags.list) return print_list(stdout, table.stages, flags.format), 0;
  if (!flags.figures.empty()) return draw_figures(flags.figures, stage_table_traced), 0;
  if (!flags.experiment.empty()) return run_experiment(flags, joined(argc, argv));

  const std::vector<const Stage*> stages = select_stages(flags.stage, table.stages);
  for (const Stage* stage : stages) {
    if (!flags.variant.empty()) select_variant(*stage, flags.variant);
  }
  if (!flags.out.empty()) check_writable(flags.out);

  Ladder ladder;
  ladder.flags = flags;
  Run& run = ladder.run;
  run.gpu_present = choose_device(flags);
  run.gpu = choose_model(flags, run.gpu_present);
  ladder.problem = load_problem(flags, run.gpu_present);
  const Problem& p = ladder.problem;
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;
  run.alpha = p.alpha;
  run.beta = p.beta;
  run.seed = flags.seed;
  run.command = joined(argc, argv);
  run.date = now_utc();
  if (run.gpu_present) {
    run.driver = gpu::driver_and_runtime();
    ladder.on_gpu = upload(p);
  }
  if (!run.gpu_present && flags.device == Device::automatic) {
    std::fprintf(stderr, "No GPU (%s): the kernels run on the CPU, traced and not timed.\n",
                 gpu::find().why_not.c_str());
  }
  ladder.reference = compute_reference(p);

  Floats result;
  climb(ladder, table, stages, result);
  const bool has_result = run.rows.empty() || !has_fatal(run.rows.back().counts.value_or(Counts{}));
  if (!flags.out.empty() && has_result) write_npy(flags.out, p.M, p.N, result.data());
  bool agrees = true;
  const auto opened = [](const char* flag, const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Refusal(std::string(flag) + " " + path + ": cannot be read");
    return file;
  };
  if (!flags.ncu.empty()) {
    std::ifstream ncu_csv = opened("--ncu", flags.ncu);
    agrees = print_profile(stdout, ncu_csv, run);
  } else if (!flags.ncu_units.empty()) {
    std::ifstream ncu_csv = opened("--ncu-units", flags.ncu_units);
    agrees = print_units(stdout, ncu_csv, run);
  } else {
    print(ladder);
  }
  return report_failures(run) || !agrees ? 1 : 0;
}

}  // namespace

int walk(int argc, char** argv, const StageTable& stages) {
  try {
    return run_program(argc, argv, stages);
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "gemm_steps: %s\n", refusal.what());
  } catch (const simt::KernelFault& fault) {
    std::fprintf(stderr, "gemm_steps: %s\n", fault.what());
    return 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gemm_steps: there is not enough memory; choose a smaller --size\n");
  }
  return 2;
}
