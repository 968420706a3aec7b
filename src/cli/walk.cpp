#include "cli/walk.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/ladder.h"
#include "cluster/cluster_command.h"
#include "cluster/figures.h"
#include "experiments/experiment_command.h"
#include "flags/flags.h"
#include "flags/select.h"
#include "gpu/gpu.h"
#include "lab/device.h"
#include "lab/npy.h"
#include "lab/problem.h"
#include "lab/stage_tables.h"
#include "lab/threads.h"
#include "model/refusal.h"
#include "page/page_command.h"
#include "pictures/pictures.h"
#include "profile/profile.h"
#include "report/explain/explain.h"
#include "report/facts.h"
#include "report/hazard_sentence.h"
#include "report/table.h"
#include "report/words.h"
#include "step/step_command.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/output.h"

namespace cli {

namespace {

constexpr const char* kVersion = "gemm_steps 1.0";

void print(const flags::Flags& flags, const lab::Run& run) {
  if (flags.format == report::Format::json) return report::print_json(stdout, run);
  if (flags.format == report::Format::csv) return report::print_csv(stdout, run);
  const text::Style style{flags::wants_colour(flags, stdout)};
  if (!flags.explain) return report::print_table(stdout, run, style, flags.wide);
  const report::Explaining how = flags::explaining(flags);
  for (const lab::Row& row : run.rows) {
    if (row.stage != nullptr && !report::explain(stdout, run, row, style, how)) return;
  }
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

// ncu's output; empty if it was not requested.
std::string read_ncu_csv(const flags::Flags& flags) {
  for (const auto& [path, flag] :
       {std::pair(&flags.ncu, "--ncu"),
        {&flags.ncu_units, "--ncu-units"},
        {&flags.ncu_caches, "--ncu-caches"}}) {
    if (!path->empty()) return profile::read_ncu_file(flag, *path);
  }
  return "";
}

void print_caches(const flags::Flags& flags, const std::string& ncu_csv) {
  if (flags.ncu_caches.empty()) return;
  std::istringstream csv(ncu_csv);
  profile::print_caches(stdout, csv);
}

// Prints the rows, or ncu's counts beside them. Returns whether the two agree.
bool print_or_compare(const flags::Flags& flags, const lab::Run& run, const std::string& ncu_csv) {
  std::istringstream csv(ncu_csv);
  if (!flags.ncu.empty()) return profile::print_profile(stdout, csv, run);
  if (!flags.ncu_units.empty()) return profile::print_units(stdout, csv, run);
  print(flags, run);
  print_caches(flags, ncu_csv);
  return true;
}

int run_experiment(const flags::Flags& flags, const std::string& command) {
  const std::string ncu_csv = read_ncu_csv(flags);
  const int exit_code = experiments::run_experiment(flags, command);
  print_caches(flags, ncu_csv);
  return exit_code;
}

void refuse_json(const flags::Flags& flags, const std::string& problem) {
  if (problem.empty()) return;
  throw model::Refusal("--json " + text::echoed(flags.json) + ": " + problem);
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
  const std::string ncu_csv = read_ncu_csv(flags);

  lab::Run run = lab::new_run(flags, lab::choose_device(flags), command);
  if (flags.trace == lab::Trace::none && !run.gpu_present) {
    throw model::Refusal("--trace none: without a GPU there are no times; leave it out");
  }
  const lab::Problem p = lab::load_problem(flags, run.gpu_present);
  run.M = p.M;
  run.N = p.N;
  run.K = p.K;
  if (!run.gpu_present && flags.device == lab::Device::automatic && model::has_clock(run.gpu)) {
    std::fprintf(
        stderr, "No GPU (%s): the kernels run on the CPU, traced and not timed.\n",
        gpu::find().why_not.c_str());
  }

  lab::Floats result;
  climb(flags, {table, stage_table_traced, stage_table_plain}, stages, p, run, result);
  const bool has_result =
      run.rows.empty() || !model::has_fatal(run.rows.back().counts.value_or(model::Counts{}));
  if (!flags.out.empty() && has_result) lab::write_npy(flags.out, p.M, p.N, result.data());
  const bool agrees = print_or_compare(flags, run, ncu_csv);
  if (!flags.json.empty()) {
    refuse_json(flags, text::write_file(flags.json, {report::json_text(run)}));
  }
  return report_failures(run) || !agrees ? 1 : 0;
}

// The ladder, if it does not take too long, and then several GPUs.
int walk_and_distribute(
    const flags::Flags& flags, const model::StageTable& table, const std::string& command) {
  cluster::prepare(flags, command);
  const int exit_code = cluster::has_ladder(flags) ? walk_stages(flags, table, command) : 0;
  return std::max(exit_code, cluster::run(flags, table, stage_table_plain, command));
}

// What would run with these flags is marked.
void list_stages(const flags::Flags& flags, const model::StageTable& table) {
  const bool on_gpu = lab::choose_device(flags);
  const lab::ProblemSize sides = lab::size_to_run(flags, on_gpu);
  report::print_list(
      stdout, table.stages, {lab::choose_model(flags, on_gpu), sides.M, sides.N}, flags.format);
}

int run_program(int argc, char** argv, const model::StageTable& table) {
  const flags::Flags flags = flags::parse_flags(argc, argv);
  lab::prepare_threads();
  const std::string command = lab::joined(argc, argv);
  if (flags.help) return std::fputs(flags::help_text(), stdout), 0;
  if (flags.version) return std::puts(kVersion), 0;
  if (flags.legend) return report::print_legend(stdout), 0;
  if (flags.ncu_metrics) return std::puts(profile::ncu_metrics().c_str()), 0;
  if (flags.ncu_unit_metrics) return std::puts(profile::ncu_unit_metrics().c_str()), 0;
  if (flags.ncu_cache_metrics) return std::puts(profile::ncu_cache_metrics().c_str()), 0;
  if (flags.step) return step::step_stages(flags, stage_table_traced);
  if (flags.list) return list_stages(flags, table), 0;
  if (!flags.figures.empty()) {
    return pictures::draw_figures(flags.figures, stage_table_traced, cluster::draw_pictures()), 0;
  }
  if (!flags.page.empty()) return page::write_page(flags, stage_table_traced);
  if (!flags.experiment.empty()) return run_experiment(flags, command);
  if (cluster::is_wanted(flags)) return walk_and_distribute(flags, table, command);
  return walk_stages(flags, table, command);
}

int run_or_refuse(int argc, char** argv, const model::StageTable& stages) {
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

}  // namespace

int walk(int argc, char** argv, const model::StageTable& stages) {
  text::open_standard_streams();
  const int exit_code = run_or_refuse(argc, argv, stages);
  if (exit_code == 2) cluster::end_others(exit_code);
  return text::finished("gemm_steps", exit_code);
}

}  // namespace cli
