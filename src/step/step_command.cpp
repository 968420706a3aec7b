#include "step/step_command.h"

#include <optional>
#include <utility>

#include "flags/select.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "model/refusal.h"
#include "step/script.h"
#include "step/terminal.h"
#include "text/echoed.h"
#include "text/file.h"

namespace step {

namespace {

constexpr int kRows = 24, kColumns = 80;           // of a frame as text
constexpr std::size_t kMostScriptBytes = 1 << 16;  // nobody types a longer one

std::string keys_in(const std::string& path) {
  text::ReadFile file = text::read_file(path, kMostScriptBytes);
  if (file.problem.empty()) return std::move(file.contents);
  throw model::Refusal("--script " + text::echoed(path) + ": " + file.problem);
}

int step_as_text(const flags::Flags& flags, Stepper& stepper, std::FILE* out) {
  bool printed_any = false, faulty = false;
  const auto print = [&] {
    if (printed_any) std::fputs((std::string(kColumns, '=') + "\n").c_str(), out);
    printed_any = true;
    faulty = faulty || stepper.is_faulty();
    for (const std::string& line : stepper.frame(kRows, kColumns)) {
      std::fprintf(out, "%s\n", line.c_str());
    }
  };
  if (!flags.script.empty()) {
    for (const ScriptStep& step : parse_script(keys_in(flags.script))) {
      if (step.key) stepper.press(*step.key);
      if (!step.key || flags.print_each) print();
      if (stepper.state().quit) break;
    }
  }
  if (!printed_any) print();
  return faulty ? 1 : 0;
}

void step_at_terminal(Stepper& stepper) {
  Terminal terminal;
  while (!stepper.state().quit) {
    const Terminal::Size size = terminal.size();
    terminal.draw(stepper.frame(size.rows, size.columns));
    if (const std::optional<Key> key = terminal.read_key()) stepper.press(*key);
  }
}

// Two neighbouring blocks and two tiles of K, or eight steps of K if there are no tiles.
flags::Flags at_teaching_size(flags::Flags flags, const model::Variant& variant) {
  if (!flags.a.empty() || flags.size) return flags;
  constexpr int kUntiled = 8;
  flags.m = flags.m.value_or(variant.BM);
  flags.n = flags.n.value_or(2 * variant.BN);
  flags.k = flags.k.value_or(variant.BK > 0 ? 2 * variant.BK : kUntiled);
  return flags;
}

StepScene stage_scene(
    const flags::Flags& asked, const model::StageTable& traced, const model::Stage& stage,
    const std::string& variant_name) {
  const model::Variant& named = flags::select_variant(stage, variant_name);
  const lab::Problem p = lab::load_problem(at_teaching_size(asked, named), false);
  if (p.results() == 0) throw model::Refusal("--step: C has no elements, so no kernel runs");
  const model::Gpu gpu = lab::choose_model(asked, false);
  const bool has_own_size = !asked.a.empty() || asked.size || (asked.m && asked.n);
  const model::Variant& variant =
      has_own_size ? flags::select_variant(stage, variant_name, gpu, p.M, p.N) : named;
  lab::Floats C = p.C;
  RecordedRun run = record_run(
      machine::Machine{&gpu}, p.arrays(C), p.product_by(lab::gemm_of(traced, variant), C));
  const std::string name =
      "stage " + std::to_string(stage.number) + ", " + stage.name + " (" + variant.name + ")";
  return scene_of(std::move(run.launches.at(0)), name, run.fault, p.M, p.N, p.K);
}

}  // namespace

bool steps_on_terminal(const flags::Flags& flags) {
  return !flags.print && !flags.print_each && flags.script.empty() && at_terminal();
}

int step(const flags::Flags& flags, const StepScenes& scenes, bool on_terminal, std::FILE* out) {
  Stepper stepper(scenes, {flags::wants_colour(flags, on_terminal ? stderr : out), flags.ascii});
  if (!flags.until.empty()) stepper.go_to(flags.until, "--until " + text::echoed(flags.until));
  if (flags.frame) {
    const std::string number = std::to_string(*flags.frame);
    stepper.go_to("step:" + number, "--frame " + number);
  }
  if (!on_terminal) return step_as_text(flags, stepper, out);
  step_at_terminal(stepper);
  return 0;
}

int step_stages(const flags::Flags& flags, const model::StageTable& traced) {
  const std::span<const model::Stage> all = traced.stages;
  const model::Stage& asked =
      *flags::select_stages(flags.stage.empty() ? "1" : flags.stage, all).front();
  if (asked.variants.empty()) {
    throw model::Refusal(
        "--stage " + text::echoed(flags.stage) + " and --step: the " + asked.name +
        " loop has no warps to follow; choose a stage from 1 on");
  }
  std::vector<const model::Stage*> stages;
  for (const model::Stage& stage : all) {
    if (!stage.variants.empty()) stages.push_back(&stage);
  }
  StepScenes scenes;
  scenes.count = static_cast<int>(stages.size());
  while (stages[scenes.first] != &asked) ++scenes.first;
  flags::select_variant(asked, flags.variant);
  scenes.load = [&](int number) {
    const model::Stage& stage = *stages[number];
    const bool is_named = &stage == &asked || flags.variant == flags::kFirstVariant;
    return stage_scene(flags, traced, stage, is_named ? flags.variant : "");
  };
  return step(flags, scenes, steps_on_terminal(flags), stdout);
}

}  // namespace step
