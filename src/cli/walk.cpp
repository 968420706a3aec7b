#include "cli/walk.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/others.h"
#include "cpu_reference.h"
#include "flags/flags.h"
#include "lab/device.h"
#include "lab/gpu/gpu.h"
#include "lab/measure.h"
#include "lab/npy.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "model/stage.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "show/report/words.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/file.h"

namespace cli {

namespace {

// The copies of gemm_steps.cu: main's own, whose kernels run on the GPU if nvcc compiled them, and
// those for the CPU.
struct StageTables {
  const model::StageTable &own, &traced, &plain;
};

// Whether the output says only what follows from the kernels' code: then nothing runs.
bool is_of_code_alone(const flags::Flags& flags) {
  constexpr std::string_view kOfCode[] = {"idea", "diff", "swizzle", "occupancy"};
  const bool shows_counts = flags.format == flags::Format::json ||
                            flags.format == flags::Format::csv || !flags.json.empty() ||
                            !flags.ncu.empty() || flags.ask;
  // Of other A and B, the GPU decides which kernel runs.
  const bool is_usual = flags.data == lab::Data::uniform && flags.a.empty() && flags.out.empty();
  return flags.explain && !flags.sections.empty() && !shows_counts && is_usual &&
         std::ranges::all_of(flags.sections, [&](const std::string& section) {
           return std::ranges::count(kOfCode, section) > 0;
         });
}

// The data that every row of the table needs.
struct Ladder {
  const flags::Flags& flags;
  const StageTables& tables;
  const lab::Problem& problem;
  const lab::Run& run;
  const lab::Reference reference;
  std::optional<lab::OnGpu> on_gpu = {};           // empty: traced on the CPU only
  lab::Floats cublas = {};                         // cuBLAS's fp32 result, empty without a GPU
  std::unique_ptr<lab::LongProduct> counted = {};  // null: `problem` is traced
  std::optional<lab::Progress> progress = {};      // of all stages ...
  std::int64_t done = 0, of_stage = 0;             // ... and what the stage at work adds to it

  lab::Means means() {
    return {
        .on_gpu = on_gpu ? &*on_gpu : nullptr,
        .repetitions = flags.reps.value_or(0),
        .reference = &reference,
        .cublas = &cublas};
  }
};

lab::Row named(const std::string& name, lab::Measurement measured) {
  lab::Row row{std::move(measured)};
  row.name = name;
  return row;
}

// cuBLAS in fp32 and tf32, and in bf16 beside a variant that multiplies bf16.
std::vector<lab::Row> cublas_rows(Ladder& ladder, bool with_bf16) {
  lab::Floats result;
  std::vector<lab::Row> rows;
  const auto add = [&](const char* name, const lab::Kernel& cublas, lab::Floats& C) {
    rows.push_back(named(name, lab::measure(ladder.problem, cublas, ladder.means(), C)));
  };
  add("cuBLAS fp32", {.gpu = std::bind_front(gpu::cublas_sgemm, false)}, ladder.cublas);
  add("cuBLAS tf32", {.gpu = std::bind_front(gpu::cublas_sgemm, true), .precision = model::kTf32},
      result);
  if (!with_bf16) return rows;
  add("cuBLAS bf16",
      {.gpu = std::bind_front(gpu::cublas_bf16, false),
       .gpu_again = std::bind_front(gpu::cublas_bf16, true),
       .precision = model::kBf16},
      result);
  return rows;
}

const void* traced_kernel(const Ladder& ladder, const model::Variant& traced) {
  return ladder.problem.launched(traced).kernel.function;
}

// Finds the source lines of the previous stage's kernel, to show what changed.
void annotate_stage_before(const Ladder& ladder, lab::Row& row) {
  const model::StageTable& traced = ladder.tables.traced;
  const lab::Run& run = ladder.run;
  const model::Stage* const stage = model::find_stage(traced.stages, row.before_number);
  if (stage == nullptr || stage->variants.empty()) return;
  const model::Variant& variant =
      row.variant->contrast
          ? model::first_variant(*stage, run.gpu)
          : model::comparable_variant(*row.variant, *stage, run.gpu, run.M, run.N, run.K);
  const trace::SourceRange lines = trace::kernel_lines(traced_kernel(ladder, variant));
  row.before_name = stage->name;
  row.before_kernel = ladder.problem.launched(variant).kernel.name;
  row.before_first = lines.first;
  row.before_last = lines.last;
}

// Annotates the kernel's lines if the output will show them.
void annotate_row(const Ladder& ladder, const model::Variant& traced, lab::Row& row) {
  const bool as_json = ladder.flags.format == flags::Format::json || !ladder.flags.json.empty();
  const bool has_hazards = row.counts && !row.counts->hazards.empty();
  if (!ladder.flags.explain && !as_json && !has_hazards) return;
  lab::annotate(row, traced_kernel(ladder, traced));
  const flags::Format format = ladder.flags.format;
  if (!ladder.flags.explain || format == flags::Format::json || format == flags::Format::csv)
    return;
  annotate_stage_before(ladder, row);
  const std::vector<std::string>& sections = ladder.flags.sections;
  if (!sections.empty() && !std::ranges::count(sections, "kernel")) return;  // which draws it
  const lab::Run& run = ladder.run;
  const lab::ProblemSize enough{run.M, run.N, std::min(run.K, 64 + run.K % 32)};  // to compare
  std::optional<lab::LongProduct> counted;
  const bool has_room = lab::LongProduct::bytes_needed(enough) < lab::available_memory();
  if (ladder.counted || (enough.K < run.K && has_room)) counted.emplace(ladder.flags, enough);
  row.remedy = lab::find_remedy(
      ladder.problem, counted ? &*counted : nullptr, run.gpu, ladder.tables.traced, row);
}

lab::Measurement measure_variant(
    Ladder& ladder, const model::Stage& stage, const model::Variant& variant, lab::Floats& result) {
  const lab::Problem& p = ladder.problem;
  const int sms = ladder.run.gpu.sms;
  if (!model::is_traceable(stage, ladder.run.gpu) || is_of_code_alone(ladder.flags)) return {};
  const auto& [own, traced, plain] = ladder.tables;
  const auto variant_in = [&](const model::StageTable& copy) -> const model::Variant& {
    return model::find_kernel(copy, stage.number, variant.name).variant;
  };
  const lab::Grid grid = lab::grid(ladder.run, variant);
  const std::int64_t blocks = std::max<std::int64_t>(1, std::int64_t{grid.x} * grid.y);
  std::atomic<std::int64_t> ended = 0;
  lab::Means means = ladder.means();
  means.machine = lab::machine_for(ladder.flags, ladder.run.gpu);
  if (!ladder.counted) {
    means.machine.progress = [&](std::int64_t more) {
      const std::int64_t blocks_done = std::min(ended += more, blocks);
      ladder.progress->reach(ladder.done + ladder.of_stage * blocks_done / blocks);
    };
  }
  const bool is_traced = ladder.flags.trace != lab::Trace::none;
  lab::Measurement counted;
  if (ladder.counted) {
    counted.counts = ladder.counted->count(traced, variant_in(traced), means.machine);
    if (model::has_fatal(*counted.counts)) return counted;
  }
  lab::Kernel kernel{
      .traced = is_traced && !counted.counts ? lab::gemm_of(traced, variant_in(traced), sms)
                                             : lab::Gemm{},
      .plain = lab::gemm_of(plain, variant_in(plain), sms),
      .precision = model::precision_of(stage, variant),
      .sample = lab::sample_of(p, variant, sms)};
  if (model::why_not_run(stage, ladder.run.gpu).empty()) {
    kernel.gpu = lab::gemm_of(own, variant, sms);
    kernel.gpu_again = lab::gemm_of(own, variant, sms, model::Makes::product_again);
    if (model::multiplies_parts(variant)) {
      kernel.gpu_prepare = lab::gemm_of(own, variant, sms, model::Makes::parts);
    }
  }
  int stood_in = 0;
  if (variant.stand_in != nullptr) {
    const auto note = [&](lab::Gemm& gemm, const model::StageTable& table) {
      if (gemm) gemm = lab::noting_stand_in(gemm, table, stood_in);
    };
    note(kernel.traced, traced);
    note(kernel.plain, plain);
    note(kernel.gpu, own);
    kernel.stood_in = &stood_in;
    for (const model::Variant* one = variant.stand_in; one != nullptr; one = one->stand_in) {
      kernel.of_stand_ins.push_back(model::precision_of(own.stages, *one));
    }
  }
  lab::Measurement measured = lab::measure(p, kernel, means, result);
  if (!measured.counts) measured.counts = std::move(counted.counts);
  return measured;
}

lab::Row stage_row(
    Ladder& ladder, const model::Stage& stage, const model::Variant& variant, lab::Floats& result) {
  lab::Row row{measure_variant(ladder, stage, variant, result)};
  row.number = stage.number;
  if (&stage != ladder.tables.own.stages.data()) row.before_number = (&stage - 1)->number;
  if (variant.contrast) row.before_number = stage.number;
  row.name = variant.contrast ? variant.contrast->name : stage.name;
  row.stage = &stage;
  row.why_not_run = model::why_not_run(stage, ladder.run.gpu);
  // Counts of another product are those of the variant itself.
  const auto that_ran = [&](const model::Variant& chosen) -> const model::Variant& {
    return model::that_ran(chosen, ladder.counted ? 0 : row.stood_in);
  };
  const lab::Launched launched = ladder.problem.launched(that_ran(variant));
  row.aligned = launched.aligned;
  row.variant = &variant;
  // Without its instructions the compiler made a different kernel, which is not launched.
  if (row.why_not_run.empty()) {
    row.occupancy = lab::occupancy_of(ladder.flags, ladder.run, *row.variant, launched.kernel);
  }
  if (row.counts ||
      (is_of_code_alone(ladder.flags) && model::is_traceable(stage, ladder.run.gpu))) {
    const auto traced = model::find_kernel(ladder.tables.traced, stage.number, variant.name);
    annotate_row(ladder, that_ran(traced.variant), row);
  }
  return row;
}

// Measures `stages`, which belong to the program's own table, on that problem and appends a row for
// each to `run`. If all stages are measured, it adds a row for the OpenMP reference, and with a GPU
// rows for cuBLAS. `result` receives the result of the last stage.
void climb(
    const flags::Flags& flags, const StageTables& tables,
    const std::vector<const model::Stage*>& stages, const lab::Problem& problem, lab::Run& run,
    lab::Floats& result) {
  const bool runs = !is_of_code_alone(flags);
  Ladder ladder{
      flags, tables, problem, run, runs ? lab::compute_reference(problem) : lab::Reference{}};
  const lab::ProblemSize sides{run.M, run.N, run.K};
  // Without room for it, the problem itself is traced, which takes longer.
  const bool is_better = run.gpu_present && flags.trace == lab::Trace::sample && flags.a.empty() &&
                         lab::LongProduct::bytes_needed(sides) <= lab::available_memory();
  if (runs && (run.checked || is_better)) ladder.counted.reset(new lab::LongProduct(flags, sides));
  const auto selected = [&](const model::Stage& stage) -> const model::Variant& {
    return flags::select_variant(stage, flags.variant, run.gpu, run.M, run.N, run.K);
  };
  std::vector<lab::Row> yardsticks;
  if (runs && run.gpu_present) {
    ladder.on_gpu.emplace(problem);
    const bool any_bf16 = std::any_of(stages.begin(), stages.end(), [&](const auto* stage) {
      return !stage->variants.empty() && model::multiplies_bf16(selected(*stage));
    });
    yardsticks = cublas_rows(ladder, any_bf16);
  }
  // Later stages take longer to trace, about in this proportion.
  constexpr std::int64_t kSteps = 1000, kFirst = 3;
  const auto all = static_cast<std::int64_t>(stages.size());
  ladder.progress.emplace("stages", kSteps * (kFirst * all + all * (all + 1) / 2));
  ladder.of_stage = kSteps * kFirst;
  for (const model::Stage* stage : stages) {
    ladder.of_stage += kSteps;
    ladder.progress->name(stage->name);
    if (!stage->variants.empty()) {
      run.rows.push_back(stage_row(ladder, *stage, selected(*stage), result));
    } else {
      constexpr double kAboutASecond = 0x1p27, kAFewSeconds = 0x1p36;
      const auto on_cpu = [&](const char* name, const lab::Gemm& gemm, double most,
                              lab::Floats& C) {
        run.rows.push_back(named(
            name, runs ? lab::measure_on_cpu(problem, gemm, most, ladder.means(), C)
                       : lab::Measurement{}));
      };
      on_cpu(stage->name, serial_gemm, kAboutASecond, result);
      run.rows.back().number = stage->number;
      run.rows.back().stage = stage;
      lab::Floats of_reference;
      const bool whole_ladder = flags.stage.empty();
      if (whole_ladder) on_cpu("OpenMP CPU", openmp_gemm, kAFewSeconds, of_reference);
    }
    ladder.progress->reach(ladder.done += ladder.of_stage);
  }
  run.rows.insert(run.rows.end(), yardsticks.begin(), yardsticks.end());
}

// Reports every hazard, then every wrong result with its first wrong element. Returns whether there
// was one of either.
bool report_failures(const lab::Run& run) {
  bool failed = report::report_hazards("gemm_steps", run);
  for (const lab::Row& row : run.rows) {
    if (!row.error || row.error->bound_ok) continue;
    failed = true;
    std::fprintf(stderr, "gemm_steps: %s\n", report::wrong_sentence(row.name, *row.error).c_str());
  }
  return failed;
}

void refuse_json(const flags::Flags& flags, const std::string& problem) {
  if (problem.empty()) return;
  throw model::Refusal("--json " + text::echoed(flags.json) + ": " + problem);
}

// Without a GPU, a product that a CPU would not compute soon is counted, and a short one is
// computed. This is so without a size, for which a product is taken that fills a GPU, and for an
// explanation.
bool counts_apart(const flags::Flags& flags, bool on_gpu, const model::Gpu& gpu) {
  constexpr double kSoon = 0x1p27;  // multiply-adds
  if (on_gpu || !flags.ncu.empty() || !flags.a.empty() || !flags.out.empty()) return false;
  if (flags.trace != lab::Trace::sample) return false;
  if (!flags.size && !flags.m && !flags.n && !flags.k) return model::has_clock(gpu);
  const lab::ProblemSize sides = lab::size_to_run(flags, on_gpu);
  return flags.explain && double(sides.M) * sides.N * sides.K > kSoon;
}

// Runs all stages, or those that were asked for.
int walk_stages(
    const flags::Flags& flags, const model::StageTable& table, const std::string& command) {
  const std::vector<const model::Stage*> stages = flags::select_stages(flags.stage, table.stages);
  for (const model::Stage* stage : stages) {
    const bool is_named = !flags.variant.empty() && flags.variant != flags::kFirstVariant;
    if (is_named) flags::select_variant(*stage, flags.variant);
  }
  if (!flags.out.empty()) lab::check_writable(flags.out);
  if (!flags.json.empty()) refuse_json(flags, text::problem_of_writing(flags.json));
  const std::string ncu_csv = ncu_counts(flags);
  const bool is_table = flags.format != flags::Format::json && flags.format != flags::Format::csv &&
                        !flags.explain && ncu_csv.empty();
  const text::Style style{flags::wants_colour(flags, stdout)};

  lab::Run run = lab::new_run(flags, lab::choose_device(flags), command);
  if (flags.trace == lab::Trace::none && !run.gpu_present) {
    throw model::Refusal("--trace none: without a GPU there are no times; leave it out");
  }
  const bool apart = counts_apart(flags, run.gpu_present, run.gpu);
  lab::Request computed = flags;
  lab::ProblemSize sides = lab::size_to_run(flags, run.gpu_present || apart);
  if (apart) {
    run.checked = lab::shortened(sides);
    computed.m = run.checked->M;
    computed.n = run.checked->N;
    computed.k = run.checked->K;
  }
  const lab::Problem p = lab::load_problem(computed, run.gpu_present);
  if (!apart) sides = {p.M, p.N, p.K};  // those of files, if there are any
  run.M = sides.M;
  run.N = sides.N;
  run.K = sides.K;
  if (!run.gpu_present && flags.device == lab::Device::automatic && model::has_clock(run.gpu)) {
    std::fprintf(
        stderr, "No GPU (%s): traced on the CPU, not timed.\n", gpu::find().why_not.c_str());
  }

  lab::Floats result;
  climb(flags, {table, stage_table_traced, stage_table_plain}, stages, p, run, result);
  const bool has_result =
      run.rows.empty() || !model::has_fatal(run.rows.back().counts.value_or(model::Counts{}));
  if (!flags.out.empty() && has_result) lab::write_npy(flags.out, p.M, p.N, result.data());
  if (is_table) report::print_table(stdout, run, style, flags.wide);
  const bool agrees = is_table || print_other(flags, run, style, ncu_csv);
  if (!flags.json.empty()) {
    refuse_json(flags, text::write_file(flags.json, {report::json_text(run)}));
  }
  return report_failures(run) || !agrees ? 1 : 0;
}

int run_program(int argc, char** argv, const model::StageTable& table) {
  const flags::Flags flags = flags::parse_flags(argc, argv);
  lab::prepare_threads();
  const std::string command = lab::joined(argc, argv);
  if (flags.help) return std::fputs(flags::help_text(), stdout), 0;
  if (flags.version) return std::puts("gemm_steps 1.0"), 0;
  if (flags.legend) return report::print_legend(stdout), 0;
  if (flags.list) {  // what would run with these flags is marked
    const bool on_gpu = lab::choose_device(flags);
    const model::Gpu gpu = lab::choose_model(flags, on_gpu);
    const auto [M, N, K] = lab::size_to_run(flags, on_gpu || counts_apart(flags, on_gpu, gpu));
    report::print_list(stdout, table.stages, {gpu, M, N, K}, flags.format);
    return 0;
  }
  // Threads without work would wait in a loop, which takes a tenth of a trace's processor time.
  // OpenMP reads this before main, so the program begins once more with it.
  const bool on_cpu = flags.device == lab::Device::cpu || !gpu::find().found;
  if (on_cpu && !std::getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 1) == 0) {
    execv("/proc/self/exe", argv);
  }
  const auto ladder = [&] { return walk_stages(flags, table, command); };
  const std::optional<int> other = run_other(flags, command, table, ladder);
  return other ? *other : ladder();
}

}  // namespace

int walk(int argc, char** argv, const model::StageTable& stages) {
  text::open_standard_streams();
  int exit_code = 2;
  try {
    exit_code = run_program(argc, argv, stages);
  } catch (const model::Refusal& refusal) {
    std::fprintf(stderr, "gemm_steps: %s\n", refusal.what());
  } catch (const machine::KernelFault& fault) {
    std::fprintf(stderr, "gemm_steps: %s\n", fault.what());
    exit_code = 1;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "gemm_steps: there is not enough memory; choose a smaller --size\n");
  }
  if (exit_code == 2) end_others(exit_code);
  return text::finished("gemm_steps", exit_code);
}

}  // namespace cli
