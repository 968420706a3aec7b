#include "flags/together.h"

#include <algorithm>
#include <string>
#include <utility>

#include "flags/select.h"
#include "model/gpus.h"
#include "model/refusal.h"
#include "text/echoed.h"

namespace flags {

namespace {

void refuse_conflicts_of_matrices(const Flags& flags) {
  if (flags.a.empty() != flags.b.empty()) {
    const bool has_a = !flags.a.empty();
    throw model::Refusal(
        has_a ? "--a " + text::echoed(flags.a) + ": B is missing; give --b B.npy too"
              : "--b " + text::echoed(flags.b) + ": A is missing; give --a A.npy too");
  }
  if (!flags.c.empty() && flags.a.empty()) {
    throw model::Refusal(
        "--c " + text::echoed(flags.c) + ": A and B are missing; give --a A.npy and --b B.npy too");
  }
  if (!flags.a.empty() && (flags.size || flags.m || flags.n || flags.k)) {
    const char* flag = flags.size ? "--size" : flags.m ? "--m" : flags.n ? "--n" : "--k";
    throw model::Refusal(
        std::string(flag) + " and --a: the files determine the size of the matrices; leave " +
        flag + " out");
  }
  if (!flags.a.empty() && flags.data != lab::Data::uniform) {
    throw model::Refusal(
        std::string("--data ") + lab::name_of(flags.data) +
        ": A and B come from files; leave --data out");
  }
  if (!flags.a.empty() && flags.c.empty() && flags.beta != 0) {
    throw model::Refusal("--beta: C is missing; give --c C.npy too, or leave --beta out");
  }
}

// A flag that needs another flag, which was not given.
void refuse_lonely(std::span<const Flag* const> given) {
  const auto is_given = [&](const Flag* flag) {
    return std::find(given.begin(), given.end(), flag) != given.end();
  };
  for (const Section& section : sections()) {
    for (const Flag& flag : section.flags) {
      if (!flag.belongs_to || !is_given(&flag) || is_given(find_flag(flag.belongs_to))) continue;
      throw model::Refusal(std::string(flag.name) + ": needs " + flag.belongs_to + "; add it");
    }
  }
}

void refuse_conflicts_of_step(const Flags& flags) {
  if (!flags.step) return;
  const char* other = flags.explain                           ? "--explain"
                      : flags.list                            ? "--list"
                      : !flags.out.empty()                    ? "--out"
                      : !flags.ncu.empty()                    ? "--ncu"
                      : flags.format != report::Format::table ? "--format"
                      : flags.device == lab::Device::gpu      ? "--device gpu"
                      : flags.trace == lab::Trace::all        ? "--trace all"
                      : !flags.hazards                        ? "--hazards off"
                      : !flags.until.empty() && flags.frame   ? "--until and --frame"
                                                              : nullptr;
  if (!other) return;
  throw model::Refusal(
      std::string(other) +
      ": does not go with --step, which shows one traced block as text; leave one out");
}

// Each of these requests something different, so only one is allowed.
void refuse_two_requests(const Flags& flags) {
  const std::pair<bool, const char*> requests[] = {
      {flags.list, "--list"},
      {flags.legend, "--legend"},
      {!flags.figures.empty(), "--figures"},
      {!flags.page.empty(), "--page"},
      {!flags.experiment.empty(), "--experiment"},
      {flags.step, "--step"},
      {flags.gpus.has_value(), "--gpus"},
      {!flags.ncu.empty(), "--ncu"},
      {!flags.ncu_units.empty(), "--ncu-units"},
      // Below an experiment's table, too.
      {!flags.ncu_caches.empty() && flags.experiment.empty(), "--ncu-caches"},
      {flags.ncu_metrics, "--ncu-metrics"},
      {flags.ncu_unit_metrics, "--ncu-unit-metrics"},
      {flags.ncu_cache_metrics, "--ncu-cache-metrics"}};
  const model::Gpu* const gpu = model::find_gpu(flags.gpu);
  if (!flags.figures.empty() && gpu != nullptr && !model::has_clock(*gpu)) {
    throw model::Refusal(
        "--gpu " + text::echoed(flags.gpu) +
        ": --figures draws the ladder as it was recorded on an H200; make show draws what a kernel "
        "does on the " +
        gpu->name);
  }
  const char* first = nullptr;
  for (const auto& [given, name] : requests) {
    if (!given) continue;
    if (first) {
      throw model::Refusal(
          std::string(first) + " and " + name + ": they cannot be combined; leave one out");
    }
    first = name;
  }
  if (!flags.ncu_caches.empty()) first = "--ncu-caches";
  if (first && !flags.json.empty()) {
    throw model::Refusal(std::string(first) + " does not use --json; leave --json out");
  }
  const bool compares = !flags.ncu.empty() || !flags.ncu_units.empty() || !flags.ncu_caches.empty();
  // An experiment has its own message.
  const bool has_report = !first || (!flags.experiment.empty() && !compares);
  const char* useless = has_report                                             ? nullptr
                        : flags.explain                                        ? "--explain"
                        : !flags.out.empty() && !compares                      ? "--out"
                        : flags.list && !flags.a.empty()                       ? "--a"
                        : !flags.list && flags.format != report::Format::table ? "--format"
                                                                               : nullptr;
  if (!useless) return;
  throw model::Refusal(
      std::string(first) + " does not use " + useless + "; leave " + useless + " out");
}

}  // namespace

void refuse_conflicts(const Flags& flags, std::span<const Flag* const> given) {
  refuse_conflicts_of_matrices(flags);
  refuse_lonely(given);
  refuse_conflicts_of_step(flags);
  refuse_two_requests(flags);
  if (flags.format == report::Format::markdown && !flags.explain) {
    throw model::Refusal("--format markdown: only --explain writes it; give --explain too");
  }
  if (flags.wide && (flags.explain || flags.format != report::Format::table)) {
    throw model::Refusal(
        std::string("--wide and ") + (flags.explain ? "--explain" : "--format") +
        ": only the table has more columns; leave one of them out");
  }
  if (flags.trace == lab::Trace::none &&
      (flags.explain || flags.step || !flags.experiment.empty() || !flags.ncu.empty() ||
       !flags.ncu_units.empty())) {
    throw model::Refusal(
        "--trace none: only the table, JSON and CSV do without counts; leave it out");
  }
  if (flags.ask && flags.format != report::Format::table) {
    throw model::Refusal("--ask: it cannot be combined with --format; leave one of them out");
  }
  if (!flags.variant.empty() && flags.variant != kFirstVariant && flags.stage.empty()) {
    throw model::Refusal(
        "--variant " + text::echoed(flags.variant) +
        ": the stage is missing; give it too, for example --stage 4");
  }
}

}  // namespace flags
