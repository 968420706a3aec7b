#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "cli/others.h"
#include "cluster/cluster_command.h"
#include "cluster/report.h"
#include "experiments/experiment.h"
#include "flags/flags.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "profile/profile.h"
#include "show/page/page.h"
#include "show/pictures/pictures.h"
#include "show/report/explain/explain.h"
#include "show/report/facts.h"
#include "show/report/table.h"
#include "show/step/step_command.h"

namespace cli {

namespace {

int run_experiment(const flags::Flags& flags, const std::string& command) {
  const std::string ncu_csv = ncu_counts(flags);
  if (!ncu_csv.empty() && !profile::has_caches(ncu_csv)) {
    throw model::Refusal(
        "--ncu: below an experiment only the caches' counts are printed; give the CSV of ncu with "
        "the metrics that --ncu-metrics caches prints");
  }
  const int exit_code = experiments::run_experiment(flags, command);
  if (!ncu_csv.empty()) profile::print_ncu(stdout, ncu_csv, {});
  return exit_code;
}

void print_run(const flags::Flags& flags, const lab::Run& run, text::Style style) {
  const auto put = [](const std::string& text) { std::fputs(text.c_str(), stdout); };
  if (flags.format == flags::Format::json) return put(report::json_text(run));
  if (flags.format == flags::Format::csv) return put(report::csv_text(run));
  if (!flags.explain) return report::print_table(stdout, run, style, flags.wide);
  const flags::Explaining how = flags::explaining(flags);
  for (const lab::Row& row : run.rows) {
    if (row.stage != nullptr && !report::explain(stdout, run, row, style, how)) return;
  }
}

}  // namespace

std::string ncu_counts(const flags::Flags& flags) {
  return flags.ncu.empty() ? "" : profile::read_ncu_file(flags.ncu);
}

bool print_other(
    const flags::Flags& flags, const lab::Run& run, text::Style style, const std::string& ncu_csv) {
  if (ncu_csv.empty() || profile::has_caches(ncu_csv)) print_run(flags, run, style);
  return ncu_csv.empty() || profile::print_ncu(stdout, ncu_csv, run);
}

std::optional<int> run_other(
    const flags::Flags& flags, const std::string& command, const model::StageTable& own,
    const std::function<int()>& ladder) {
  if (!flags.ncu_metrics.empty()) {
    return std::puts(profile::ncu_metrics(flags.ncu_metrics).c_str()), 0;
  }
  if (flags.step) return step::step_stages(flags, stage_table_traced);
  if (!flags.figures.empty()) {
    pictures::draw_figures(flags.figures, stage_table_traced, {cluster::draw_ownership()});
    return 0;
  }
  if (!flags.page.empty()) return page::write_page(flags, stage_table_traced);
  if (!flags.experiment.empty()) return run_experiment(flags, command);
  if (!cluster::is_wanted(flags)) return std::nullopt;
  return cluster::run(flags, own, stage_table_plain, command, ladder);
}

void end_others(int exit_code) {
  cluster::end_others(exit_code);
}

}  // namespace cli
