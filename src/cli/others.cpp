#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "cli/others.h"
#include "cluster/cluster_command.h"
#include "cluster/report.h"
#include "experiments/experiment.h"
#include "flags/flags.h"
#include "lab/measure.h"
#include "profile/profile.h"
#include "show/page/page.h"
#include "show/pictures/pictures.h"
#include "show/step/step_command.h"

namespace cli {

namespace {

int run_experiment(const flags::Flags& flags, const std::string& command) {
  const std::string& file = flags.ncu_caches;
  std::istringstream caches(file.empty() ? "" : profile::read_ncu_file("--ncu-caches", file));
  const int exit_code = experiments::run_experiment(flags, command);
  if (!file.empty()) profile::print_caches(stdout, caches);
  return exit_code;
}

}  // namespace

std::optional<int> run_other(
    const flags::Flags& flags, const std::string& command, const model::StageTable& own,
    const std::function<int()>& ladder) {
  if (flags.step) return step::step_stages(flags, stage_table_traced);
  if (!flags.figures.empty()) {
    pictures::draw_figures(flags.figures, stage_table_traced, {cluster::draw_ownership()});
    return 0;
  }
  if (!flags.page.empty()) return page::write_page(flags, stage_table_traced);
  if (!flags.experiment.empty()) return run_experiment(flags, command);
  if (!cluster::is_wanted(flags)) return std::nullopt;
  // The ladder, if it does not take too long, and then several GPUs.
  cluster::prepare(flags, command);
  const int exit_code = cluster::has_ladder(flags) ? ladder() : 0;
  return std::max(exit_code, cluster::run(flags, own, stage_table_plain, command));
}

void end_others(int exit_code) {
  cluster::end_others(exit_code);
}

}  // namespace cli
