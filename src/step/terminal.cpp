#include "step/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "model/refusal.h"
#include "text/numbers.h"

namespace step {

namespace {

// ECMA-48 and xterm's sequences: alternate screen, no wrapping at the right edge, no cursor; and
// back.
constexpr std::string_view kTake = "\033[?1049h\033[?7l\033[?25l\033[H\033[2J";
constexpr std::string_view kGiveBack = "\033[0m\033[?25h\033[?7h\033[?1049l";

// Signals that end the process by default.
constexpr int kFatal[] = {SIGINT, SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE, SIGSEGV, SIGBUS,  SIGFPE,
                          SIGILL, SIGABRT, SIGTRAP, SIGSYS,  SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};

// Plain variables, because signal handlers read them.
int terminal = -1;
volatile sig_atomic_t taken = 0, changed = 0;
termios before, while_taken;
struct sigaction fatal_before[std::size(kFatal)];
struct sigaction stop_before, continue_before, resize_before;

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
  for (std::size_t i = 0; i < std::size(kFatal); ++i) {
    if (kFatal[i] == signal) sigaction(signal, &fatal_before[i], nullptr);
  }
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

void install(int signal, void (*handler)(int), struct sigaction* old) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, old);
  if (old->sa_handler == SIG_IGN) sigaction(signal, old, nullptr);  // ignored by nohup
}

// Signals that read_key() waits for, and that arrive at no other time.
sigset_t expected_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTSTP, SIGCONT, SIGWINCH}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

bool at_terminal() {
  return isatty(STDIN_FILENO) && text::is_terminal(stdout);
}

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
  const sigset_t expected = expected_signals();
  sigprocmask(SIG_BLOCK, &expected, nullptr);
  for (std::size_t i = 0; i < std::size(kFatal); ++i) {
    install(kFatal[i], on_fatal, &fatal_before[i]);
  }
  install(SIGTSTP, on_stop, &stop_before);
  install(SIGCONT, on_continue, &continue_before);
  install(SIGWINCH, on_resize, &resize_before);
  static const int at_exit = std::atexit(give_back);
  static_cast<void>(at_exit);
  take();
}

Terminal::~Terminal() {
  give_back();
  for (std::size_t i = 0; i < std::size(kFatal); ++i) {
    sigaction(kFatal[i], &fatal_before[i], nullptr);
  }
  sigaction(SIGTSTP, &stop_before, nullptr);
  sigaction(SIGCONT, &continue_before, nullptr);
  sigaction(SIGWINCH, &resize_before, nullptr);
  const sigset_t expected = expected_signals();
  sigprocmask(SIG_UNBLOCK, &expected, nullptr);
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
  for (const int signal : {SIGTSTP, SIGCONT, SIGWINCH}) sigdelset(&while_waiting, signal);
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
  const std::optional<int> kind = read_byte(kWithinMs);
  if (!kind || (*kind != '[' && *kind != 'O')) return kEscapeKey;
  int number = 0;
  while (const std::optional<int> byte = read_byte(kWithinMs)) {
    if (*byte >= '0' && *byte <= '9') {
      number = (number * 10 + (*byte - '0')) % 1000;
      continue;
    }
    switch (*byte) {
      case 'A':
        return kUpKey;
      case 'B':
        return kDownKey;
      case 'C':
        return kRightKey;
      case 'D':
        return kLeftKey;
      case 'H':
        return kHomeKey;
      case 'F':
        return kEndKey;
      case '~':
        return number == 5                  ? kPageUpKey
               : number == 6                ? kPageDownKey
               : number == 1 || number == 7 ? kHomeKey
               : number == 4 || number == 8 ? kEndKey
                                            : Key{kEscapeKey};
      case ';':
        number = 0;  // shift, control and other modifiers come after it
        break;
      default:
        if (*byte >= 0x40) return kEscapeKey;
    }
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

}  // namespace step
