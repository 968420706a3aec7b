#include "show/step/step_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "flags/flags.h"
#include "lab/device.h"
#include "lab/problem.h"
#include "lab/run.h"
#include "model/refusal.h"
#include "show/pictures/block_requests.h"
#include "show/report/words.h"
#include "simulator/simulator.h"
#include "text/echoed.h"
#include "text/file.h"
#include "text/numbers.h"

namespace step {

namespace {

constexpr std::size_t kMostSteps = 200'000;

}  // namespace

model::Recorder step_recorder() {
  return {{0, 1}, kMostSteps};
}

SteppedRun record_run(
    machine::Machine machine, std::span<const machine::GlobalArray> arrays,
    const std::function<void()>& host) {
  model::Recorder recorder = step_recorder();
  machine.recorder = &recorder;
  machine.blocks = machine::Blocks::kSample;
  SteppedRun run;
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
    int K, const std::optional<std::string>& remedy) {
  StepScene scene;
  scene.name = name;
  scene.fault = fault;
  const auto& [x, y, z] = recording.grid;
  scene.is_product = M > 0;
  scene.problem = scene.is_product ? text::printed("C (%d x %d), K = %d", M, N, K)
                                   : text::printed("grid %u x %u x %u", x, y, z);
  const trace::SourceRange lines = trace::kernel_lines(recording.kernel);
  trace::resolve_lines(recording, lines);
  scene.source = text::shown_lines(trace::source_text(lines.file));
  scene.source_first = lines.first;
  scene.source_last = lines.last;

  const std::string kernel = machine::function_name(recording.kernel);
  const std::set<int> used = used_arrays(recording);
  for (std::size_t i = 0; i < recording.arrays.size(); ++i) {
    const model::RecordedArray& array = recording.arrays[i];
    scene.row_words.push_back(
        !array.shared            ? std::max(1, array.name == "A" ? K : N)
        : !used.contains(int(i)) ? recording.warp.banks
                                 : pictures::declared_row_words(
                                       scene.source, lines.first, lines.last, kernel, array.name,
                                       array.bytes, recording.warp.banks));
  }
  scene.contexts = contexts_of(recording);
  // The copy engine knows the rows of the matrices that it copies from.
  for (const model::RecordedAction& action : recording.actions) {
    if (action.matrix < 0) continue;
    scene.row_words[action.matrix] = std::max(1, static_cast<int>(action.pitch_bytes / 4));
  }

  const model::RecordedExtent grid = recording.grid, block = recording.block;
  model::Variant variant{};
  variant.kernel.name = kernel.c_str();
  lab::Row row;
  row.variant = &variant;
  lab::Run run{};
  run.M = M;
  run.N = N;
  run.K = K;
  for (const model::RecordedHazard& recorded : recording.hazards) {
    model::Hazard hazard = recorded.hazard;
    hazard.grid = {grid.x, grid.y, grid.z};
    hazard.block_size = {block.x, block.y, block.z};
    scene.sentences.push_back(report::hazard_sentence(hazard, run, row, remedy));
  }
  scene.recording = std::move(recording);
  scene.ring = ring_of(scene);
  return scene;
}

void draw_by_columns(StepScene& scene, std::span<const bool, 3> by_columns, int M, int K) {
  const std::string names = "ABC";
  const int lengths[] = {M, K, M};
  for (std::size_t i = 0; i < scene.row_words.size(); ++i) {
    const model::RecordedArray& array = scene.recording.arrays[i];
    const std::size_t matrix = array.name.size() == 1 ? names.find(array.name) : names.npos;
    if (array.shared || matrix == names.npos || !by_columns[matrix]) continue;
    scene.row_words[i] = std::max(1, lengths[matrix]);
  }
}

namespace {

// Takes over the terminal, and restores it in the destructor, at exit(), and when a signal ends or
// stops the process. Only one may exist at a time.
class Terminal {
 public:
  Terminal();  // throws a Refusal if there is no terminal
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  struct Size {
    int rows, columns;
  };
  Size size() const;  // 24 x 80 if the terminal does not report its size

  void draw(const std::vector<std::string>& lines);  // not larger than size()

  // Waits for a key. Returns nothing if the screen must be redrawn first, because the window's size
  // changed or the process was stopped. 'q' if the terminal is gone.
  std::optional<Key> read_key();

 private:
  std::optional<int> read_byte(int wait_ms);
  Key read_sequence();
};

// ECMA-48 and xterm's sequences: alternate screen, no wrapping at the right edge, no cursor; and
// back.
constexpr std::string_view kTake = "\033[?1049h\033[?7l\033[?25l\033[H\033[2J";
constexpr std::string_view kGiveBack = "\033[0m\033[?25h\033[?7h\033[?1049l";

// Signals that end the process by default.
constexpr int kFatal[] = {SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE, SIGSEGV, SIGBUS,  SIGFPE,
                          SIGILL, SIGABRT, SIGTRAP, SIGSYS,  SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};
// Those that read_key() waits for, and that arrive at no other time.
constexpr int kExpected[] = {SIGTSTP, SIGCONT, SIGWINCH};

// Plain variables, because signal handlers read them.
int terminal = -1;
volatile sig_atomic_t taken = 0, changed = 0;
termios before, while_taken;
struct sigaction actions_before[NSIG];

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(terminal, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;
    if (written > 0) text.remove_prefix(written);
  }
}

void take() {
  tcsetattr(terminal, TCSANOW, &while_taken);
  write_all(kTake);
  taken = 1;
}

void give_back() {
  if (!taken) return;
  taken = 0;
  write_all(kGiveBack);
  tcsetattr(terminal, TCSANOW, &before);
}

void on_fatal(int signal) {
  give_back();
  sigaction(signal, &actions_before[signal], nullptr);
  raise(signal);  // arrives when this handler returns, and then has its usual effect
}

void on_stop(int) {
  const int error = errno;
  give_back();
  struct sigaction mine;
  struct sigaction as_usual {};
  as_usual.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &as_usual, &mine);
  sigset_t stop, blocked;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  sigprocmask(SIG_UNBLOCK, &stop, &blocked);  // the process stops here
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  sigaction(SIGTSTP, &mine, nullptr);
  take();
  changed = 1;
  errno = error;
}

// Also after a SIGSTOP, which cannot be caught: the shell may have changed the terminal since.
void on_continue(int) {
  const int error = errno;
  if (taken) take();
  changed = 1;
  errno = error;
}

void on_resize(int) {
  changed = 1;
}

void install(int signal, void (*handler)(int)) {
  struct sigaction action {};
  struct sigaction* const old = &actions_before[signal];
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, old);
  if (old->sa_handler == SIG_IGN) sigaction(signal, old, nullptr);  // ignored by nohup
}

// SIG_BLOCK or SIG_UNBLOCK.
void change_expected(int how) {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kExpected) sigaddset(&signals, signal);
  sigprocmask(how, &signals, nullptr);
}

}  // namespace

Terminal::Terminal() {
  terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
  if (terminal < 0 || tcgetattr(terminal, &before) != 0) {
    if (terminal >= 0) close(terminal);
    throw model::Refusal(
        "--step: there is no terminal to draw on; --step --print prints a frame as text");
  }
  // Keys arrive one at a time and are not echoed. Ctrl-C is a key, too; Ctrl-Z stops the process as
  // usual.
  while_taken = before;
  while_taken.c_lflag &= ~(ICANON | ECHO | IEXTEN);
  while_taken.c_iflag &= ~(ICRNL | IXON);
  while_taken.c_cc[VINTR] = while_taken.c_cc[VQUIT] = _POSIX_VDISABLE;
  while_taken.c_cc[VMIN] = 1;
  while_taken.c_cc[VTIME] = 0;

  // After a stack overflow the handler needs another stack.
  static char stack_memory[64 * 1024];
  stack_t stack{};
  if (sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_DISABLE)) {
    stack = {};
    stack.ss_sp = stack_memory;
    stack.ss_size = sizeof stack_memory;
    sigaltstack(&stack, nullptr);
  }
  change_expected(SIG_BLOCK);
  for (const int signal : kFatal) install(signal, on_fatal);
  install(SIGTSTP, on_stop);
  install(SIGCONT, on_continue);
  install(SIGWINCH, on_resize);
  static const int at_exit = std::atexit(give_back);
  static_cast<void>(at_exit);
  take();
}

Terminal::~Terminal() {
  give_back();
  for (const int signal : kFatal) sigaction(signal, &actions_before[signal], nullptr);
  for (const int signal : kExpected) sigaction(signal, &actions_before[signal], nullptr);
  change_expected(SIG_UNBLOCK);
  close(terminal);
}

Terminal::Size Terminal::size() const {
  winsize window{};
  const bool known = ioctl(terminal, TIOCGWINSZ, &window) == 0 && window.ws_row > 0;
  return known && window.ws_col > 0 ? Size{window.ws_row, window.ws_col} : Size{24, 80};
}

void Terminal::draw(const std::vector<std::string>& lines) {
  std::string screen = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    screen += lines[i] + "\033[K" + (i + 1 < lines.size() ? "\r\n" : "");
  }
  write_all(screen + "\033[J");
}

// Returns nothing if no key came in time or a signal came first. The end of input is 'q'.
std::optional<int> Terminal::read_byte(int wait_ms) {
  sigset_t while_waiting;
  sigprocmask(SIG_SETMASK, nullptr, &while_waiting);
  for (const int signal : kExpected) sigdelset(&while_waiting, signal);
  pollfd ready{terminal, POLLIN, 0};
  const timespec wait{wait_ms / 1000, wait_ms % 1000 * 1'000'000L};
  const int events = ppoll(&ready, 1, wait_ms < 0 ? nullptr : &wait, &while_waiting);
  if (events == 0 || (events < 0 && errno == EINTR)) return std::nullopt;
  unsigned char byte = 0;
  const ssize_t got = events > 0 ? read(terminal, &byte, 1) : -1;
  if (got == 1) return byte;
  return got < 0 && (errno == EINTR || errno == EAGAIN) ? std::nullopt : std::optional<int>('q');
}

// Reads what follows an escape character: a special key, or nothing, which means the Escape key.
Key Terminal::read_sequence() {
  constexpr int kWithinMs = 50;  // the bytes of one key arrive together
  constexpr Key kArrows[] = {kUpKey, kDownKey, kRightKey, kLeftKey};
  const std::optional<int> kind = read_byte(kWithinMs);
  if (!kind || (*kind != '[' && *kind != 'O')) return kEscapeKey;
  int number = 0;
  while (const std::optional<int> byte = read_byte(kWithinMs)) {
    if (*byte >= '0' && *byte <= '9') {
      number = (number * 10 + (*byte - '0')) % 1000;
      continue;
    }
    const auto [letter, end] = std::pair(*byte, *byte == '~' ? number : 0);
    if (letter >= 'A' && letter <= 'D') return kArrows[letter - 'A'];
    if (letter == 'H' || end == 1 || end == 7) return kHomeKey;
    if (letter == 'F' || end == 4 || end == 8) return kEndKey;
    if (end == 5) return kPageUpKey;
    if (end == 6) return kPageDownKey;
    if (letter >= 0x40) return kEscapeKey;
    if (letter == ';') number = 0;  // shift, control and other modifiers come after it
  }
  return kEscapeKey;
}

std::optional<Key> Terminal::read_key() {
  constexpr int kForever = -1;
  if (changed) {
    changed = 0;
    return std::nullopt;
  }
  const std::optional<int> byte = read_byte(kForever);
  if (!byte) return changed = 0, std::nullopt;
  if (*byte == 27) return read_sequence();
  return *byte == 127 ? Key{kBackspaceKey} : Key{*byte};
}

namespace {

class Stepper {
 public:
  Stepper(const StepScenes& scenes, StepStyle style) : scenes_(scenes), style_(style) {
    state_.scene = scenes.first;
    state_.scenes = scenes.count;
    state_ = first_state(scene(), state_);
  }
  const StepScene& scene() {  // loaded when first shown
    const auto known = loaded_.find(state_.scene);
    if (known != loaded_.end()) return known->second;
    return loaded_.emplace(state_.scene, scenes_.load(state_.scene)).first->second;
  }
  bool has_quit() const { return state_.quit; }
  void press(Key key) {
    const int shown = state_.scene;
    state_ = apply(scene(), state_, key);
    if (state_.scene != shown) state_ = first_state(scene(), state_);
  }
  void go_to(const std::string& place, const std::string& requested) {  // like move_to
    state_ = move_to(scene(), state_, place, requested);
  }
  std::vector<std::string> frame(int rows, int columns) {
    return render(scene(), state_, rows, columns, style_);
  }

 private:
  const StepScenes& scenes_;
  const StepStyle style_;
  std::map<int, StepScene> loaded_;
  StepState state_;
};

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
    const StepScene& scene = stepper.scene();
    faulty = faulty || !scene.recording.hazards.empty() || !scene.fault.empty();
    for (const std::string& line : stepper.frame(kRows, kColumns)) {
      std::fprintf(out, "%s\n", line.c_str());
    }
  };
  if (!flags.script.empty()) {
    for (const std::optional<Key> key : parse_script(keys_in(flags.script))) {
      key ? stepper.press(*key) : print();
      if (stepper.has_quit()) break;
    }
  }
  if (!printed_any) print();
  return faulty ? 1 : 0;
}

void step_at_terminal(Stepper& stepper) {
  Terminal screen;
  while (!stepper.has_quit()) {
    const Terminal::Size size = screen.size();
    screen.draw(stepper.frame(size.rows, size.columns));
    if (const std::optional<Key> key = screen.read_key()) stepper.press(*key);
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
    const flags::Flags& requested, const model::StageTable& traced, const model::Stage& stage,
    const std::string& variant_name) {
  const model::Variant& named = flags::select_variant(stage, variant_name);
  const lab::Problem p = lab::load_problem(at_teaching_size(requested, named), false);
  if (p.results() == 0) throw model::Refusal("--step: C has no elements, so no kernel runs");
  const model::Gpu gpu = lab::choose_model(requested, false);
  const bool has_own_size = !requested.a.empty() || requested.size || (requested.m && requested.n);
  const model::Variant& variant =
      has_own_size ? flags::select_variant(stage, variant_name, gpu, p.M, p.N, p.K) : named;
  lab::Floats C = p.C;
  SteppedRun run = record_run(
      machine::Machine{&gpu}, p.arrays(C), p.product_by(lab::gemm_of(traced, variant), C));
  const std::string name =
      "stage " + std::to_string(stage.number) + ", " + stage.name + " (" + variant.name + ")";
  return scene_of(std::move(run.launches.at(0)), name, run.fault, p.M, p.N, p.K);
}

}  // namespace

bool steps_on_terminal(const flags::Flags& flags) {
  return !flags.print && flags.script.empty() && isatty(STDIN_FILENO) && text::is_terminal(stdout);
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
  const model::Stage& requested =
      *flags::select_stages(flags.stage.empty() ? "1" : flags.stage, all).front();
  if (requested.variants.empty()) {
    throw model::Refusal(
        "--stage " + text::echoed(flags.stage) + " and --step: the " + requested.name +
        " loop has no warps to follow; choose a stage from 1 on");
  }
  std::vector<const model::Stage*> stages;
  for (const model::Stage& stage : all) {
    if (!stage.variants.empty()) stages.push_back(&stage);
  }
  StepScenes scenes;
  scenes.count = static_cast<int>(stages.size());
  while (stages[scenes.first] != &requested) ++scenes.first;
  flags::select_variant(requested, flags.variant);
  scenes.load = [&](int number) {
    const model::Stage& stage = *stages[number];
    const bool is_named = &stage == &requested || flags.variant == flags::kFirstVariant;
    return stage_scene(flags, traced, stage, is_named ? flags.variant : "");
  };
  return step(flags, scenes, steps_on_terminal(flags), stdout);
}

}  // namespace step
