#include "experiments/choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "experiments/kernel_tables.h"
#include "flags/flags.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "lab/stage_tables.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace experiments {

namespace {

bool has_own_shapes(const Experiment& experiment) {
  return experiment.otherwise.N == 0;
}

// The kernel of an experiment with only one; --stage and --variant choose another. Where the
// experiment has shapes of its own, every row has the same tile.
Place kernel_of(const flags::Flags& flags, const model::Gpu& gpu, const Experiment& experiment) {
  if (flags.stage.empty()) return find(experiment.one_kernel, experiment.variant);
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  if (chosen.size() != 1 || chosen.front()->variants.empty()) {
    throw model::Refusal(
        "--stage " + text::echoed(flags.stage) + ": --experiment " + experiment.name +
        " tests one kernel; give one stage from 1 on");
  }
  const Place place = find(chosen.front()->number, "");
  const model::Stage& stage = own_table().stages[place.stage];
  const Sides sides = sides_of(flags, experiment);
  const model::Variant& variant =
      has_own_shapes(experiment)
          ? flags::select_variant(stage, flags.variant)
          : flags::select_variant(stage, flags.variant, gpu, sides.M, sides.N);
  return find(stage.number, variant.name);
}

}  // namespace

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
  const std::pair<bool, const char*> useless[] = {
      {flags.explain, "--explain"},
      {!flags.a.empty(), "--a"},
      {flags.data != lab::Data::uniform, "--data"},
      {!flags.out.empty(), "--out"},
      {!flags.ncu.empty(), "--ncu"}};
  for (const auto& [given, flag] : useless) {
    if (given) throw model::Refusal(name + " does not use " + flag + "; leave " + flag + " out");
  }
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

Sides sides_of(const flags::Flags& flags, const Experiment& experiment) {
  const Sides& otherwise = experiment.otherwise;
  if (has_own_shapes(experiment)) {  // for that many tokens, and of that size
    return {flags.m.value_or(otherwise.M), 0, flags.size.value_or(otherwise.K)};
  }
  const auto side = [&](const std::optional<int>& own, int usual) {
    return own.value_or(flags.size.value_or(usual));
  };
  return {side(flags.m, otherwise.M), side(flags.n, otherwise.N), side(flags.k, otherwise.K)};
}

std::vector<Launch> launches_of(
    const flags::Flags& flags, const lab::Run& about, const Experiment& experiment) {
  Plan plan{sides_of(flags, experiment), about.gpu, nullptr, nullptr, std::nullopt};
  if (experiment.one_kernel > 0) {
    const Place place = kernel_of(flags, about.gpu, experiment);
    plan.stage = &own_table().stages[place.stage];
    plan.variant = &plan.stage->variants[place.variant];
    plan.occupancy = lab::occupancy_of(flags, about, *plan.variant, plan.variant->kernel);
    return experiment.launches(plan);
  }
  std::vector<Launch> launches = experiment.launches(plan);
  if (flags.stage.empty()) return launches;
  const std::vector<const model::Stage*> chosen =
      flags::select_stages(flags.stage, stage_table_plain.stages);
  std::erase_if(launches, [&](const Launch& launch) {
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

}  // namespace experiments
