#include "step/step_command.h"

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "flags/select.h"
#include "lab/problem.h"
#include "machine/symbols.h"
#include "model/refusal.h"
#include "pictures/array_shape.h"
#include "report/hazard_sentence.h"
#include "step/terminal.h"
#include "text/numbers.h"
#include "trace/source_lines.h"

namespace step {

namespace {

constexpr int kRows = 24, kColumns = 80;  // of a frame as text
constexpr std::size_t kMostSteps = 200'000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string file_contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw model::Refusal(
        "--script " + path + ": cannot be read; give a file of keys, for example \"3n b\"");
  }
  return text.str();
}

// The scenes that were shown so far, and where in them the reader is.
class Stepper {
 public:
  Stepper(const StepScenes& scenes, StepStyle style) : scenes_(scenes), style_(style) {
    state_.scene = scenes.first;
    state_.scenes = scenes.count;
    state_ = first_state(scene(), state_);
  }
  const StepScene& scene() {
    const auto known = loaded_.find(state_.scene);
    if (known != loaded_.end()) return known->second;
    return loaded_.emplace(state_.scene, scenes_.load(state_.scene)).first->second;
  }
  const StepState& state() const { return state_; }
  void press(Key key) {
    const int before = state_.scene;
    state_ = apply(scene(), state_, key);
    if (state_.scene != before) state_ = first_state(scene(), state_);
  }
  void go_to(const std::string& place, const std::string& asked) {
    state_ = move_to(scene(), state_, place, asked);
  }
  std::vector<std::string> frame(int rows, int columns) {
    return render(scene(), state_, rows, columns, style_);
  }
  bool is_faulty() { return !scene().recording.hazards.empty() || !scene().fault.empty(); }

 private:
  const StepScenes& scenes_;
  const StepStyle style_;
  std::map<int, StepScene> loaded_;
  StepState state_;
};

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
    for (const ScriptStep& step : parse_script(file_contents(flags.script))) {
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

// Two blocks side by side and two tiles of K, or eight steps of K where there are no tiles.
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
    const model::Variant& variant) {
  const lab::Problem p = lab::load_problem(at_teaching_size(asked, variant), false);
  if (p.results() == 0) throw model::Refusal("--step: C has no element here, so no kernel runs");
  const model::Gpu gpu = lab::choose_model(asked, false);
  lab::Floats C = p.C;
  const auto bytes = [](const lab::Floats& matrix) { return matrix.size() * sizeof(float); };
  const machine::GlobalArray arrays[] = {
      {"A", p.A.data(), bytes(p.A)},
      {"B", p.B.data(), bytes(p.B)},
      {"C", C.data(), bytes(C), true}};
  RecordedRun run = record_run(machine::Machine{&gpu}, arrays, [&] {
    traced.run(variant, p.M, p.N, p.K, p.alpha, p.A.data(), p.B.data(), p.beta, C.data());
  });
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
  if (!flags.until.empty()) stepper.go_to(flags.until, "--until " + flags.until);
  if (flags.frame) {
    const std::string number = std::to_string(*flags.frame);
    stepper.go_to("step:" + number, "--frame " + number);
  }
  if (!on_terminal) return step_as_text(flags, stepper, out);
  step_at_terminal(stepper);
  return 0;
}

RecordedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host) {
  trace::Recorder recorder{{0, 1}, kMostSteps};
  machine.recorder = &recorder;
  machine.blocks = machine::Blocks::kSample;
  RecordedRun run;
  try {
    trace::trace(machine, arrays, host);
  } catch (const machine::KernelFault& fault) {
    run.fault = fault.what();
  }
  run.launches = std::move(recorder.launches);
  return run;
}

StepScene scene_of(
    model::Recording recording, const std::string& name, const std::string& fault, int M, int N,
    int K) {
  StepScene scene;
  scene.name = name;
  scene.fault = fault;
  scene.problem = text::printed("C (%d x %d), K = %d", M, N, K);
  const trace::SourceRange lines = trace::kernel_lines(recording.kernel);
  trace::resolve_lines(recording, lines);
  scene.source = lines_of(trace::source_text(lines.file));
  scene.source_first = lines.first;
  scene.source_last = lines.last;

  const std::string kernel = machine::function_name(recording.kernel);
  for (const model::RecordedArray& array : recording.arrays) {
    scene.row_words.push_back(
        array.shared ? pictures::declared_row_words(
                           scene.source, lines.first, lines.last, kernel, array.name, array.bytes)
                     : std::max(1, array.name == "A" ? K : N));
  }

  const model::RecordedExtent grid = recording.grid, block = recording.block;
  model::Variant variant{};
  variant.kernel.name = kernel.c_str();
  variant.block_x = static_cast<int>(block.x);
  lab::Row row;
  row.variant = &variant;
  row.launch = lab::LaunchShape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0, 0, 1};
  lab::Run run{};
  run.M = M;
  run.N = N;
  run.K = K;
  for (const model::RecordedHazard& recorded : recording.hazards) {
    scene.sentences.push_back(report::hazard_sentence(recorded.hazard, run, row));
  }
  scene.recording = std::move(recording);
  return scene;
}

int step_stages(const flags::Flags& flags, const model::StageTable& traced) {
  const std::span<const model::Stage> all = traced.stages;
  const model::Stage& asked =
      *flags::select_stages(flags.stage.empty() ? "1" : flags.stage, all).front();
  if (asked.variants.empty()) {
    throw model::Refusal(
        "--stage " + flags.stage + " and --step: the " + asked.name +
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
    return stage_scene(
        flags, traced, stage, flags::select_variant(stage, &stage == &asked ? flags.variant : ""));
  };
  return step(flags, scenes, steps_on_terminal(flags), stdout);
}

}  // namespace step
