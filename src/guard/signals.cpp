#include "guard/signals.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>

#include "guard/child.h"
#include "guard/failure.h"
#include "guard/lock.h"

namespace guard {
namespace {

std::atomic_flag failed = ATOMIC_FLAG_INIT;

bool is_inside() {
  const auto asked = this_child.guard->watched.is_inside;
  return asked != nullptr && asked();
}

// Ends the child with this failure. The caller fills in only what happened; this adds where. May be
// called from a signal handler on any thread; the first call counts.
[[noreturn]] void send_failure(const Failure& what) {
  static Failure failure;
  if (failed.test_and_set()) {
    sigset_t none;
    sigemptyset(&none);
    // Unlike pause(), this is a call that the lock allows on every architecture
    while (true) sigsuspend(&none);
  }
  const Watched& code = this_child.guard->watched;
  if (code.before_failure != nullptr) code.before_failure();
  failure = what;
  failure.inside = is_inside();
  if (code.describe != nullptr) code.describe(failure.words, sizeof failure.words);
  if (code.describe_address != nullptr && failure.address != nullptr) {
    code.describe_address(failure.address, failure.at, sizeof failure.at);
  }
  failure.frames = backtrace(failure.frame, std::size(failure.frame));
  tell(Message::kFailure, 1, &failure, sizeof failure);
  _exit(1);
}

// The registers at a refused system call.
struct Refused {
  explicit Refused(void* context) : registers(static_cast<ucontext_t*>(context)->uc_mcontext) {}
#if defined(__x86_64__)
  long first() const {
    return registers.gregs[REG_RDI];
  }
  long second() const {
    return registers.gregs[REG_RSI];
  }
  void fail(int error) {
    registers.gregs[REG_RAX] = -error;
  }
#else
  long first() const {
    return static_cast<long>(registers.regs[0]);
  }
  long second() const {
    return static_cast<long>(registers.regs[1]);
  }
  void fail(int error) {
    registers.regs[0] = static_cast<unsigned long long>(-error);
  }
#endif
  mcontext_t& registers;
};

// On first use, malloc() and free() look at a few files, and work without them if they cannot. The
// files are not opened, but this call is the C library's and not the kernel's, so it only fails.
bool is_for_the_library(const siginfo_t& info, const Refused& refused) {
  if (info.si_syscall != SYS_openat || is_foreign(info.si_arch)) return false;
  const auto* path = reinterpret_cast<const char*>(refused.second());
  for (const char* known :
       {"/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu/online",
        "/sys/devices/system/cpu/possible", "/proc/stat"}) {
    if (std::strcmp(path, known) == 0) return true;
  }
  return false;
}

void on_crash(int signal, siginfo_t* info, void* context) {
  Refused refused(context);
  if (signal == SIGSYS && is_for_the_library(*info, refused)) return refused.fail(EACCES);
  static std::atomic<pid_t> first = 0;
  pid_t before = 0;
  if (!first.compare_exchange_strong(before, gettid()) && before == gettid()) {
    // The handler itself crashes. (If other threads crash in the meantime, this must not end the
    // child: they wait in send_failure.)
    struct sigaction as_usual {};
    as_usual.sa_handler = SIG_DFL;
    sigaction(signal, &as_usual, nullptr);
    return;
  }
  Failure failure{};
  failure.kind = Failure::kSignal;
  failure.signal = signal;
  failure.address = info->si_addr;
  // On x86 a 16-byte move to a misaligned address faults without reporting the address.
  failure.misaligned = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                       (signal == SIGBUS && info->si_code == BUS_ADRALN);
  if (signal == SIGSYS) {
    failure.kind = Failure::kSystemCall;
    failure.call = info->si_syscall;
    failure.foreign = is_foreign(info->si_arch);
    failure.argument = refused.first();
  }
  send_failure(failure);
}

[[noreturn]] void send_failure(Failure::Kind kind) {
  Failure failure{};
  failure.kind = kind;
  send_failure(failure);
}

// Seconds since the alarm that ends the child, by its first call.
double overdue() {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  static std::atomic<double> first = 0;
  double never = 0;
  first.compare_exchange_strong(never, now());
  return now() - first;
}

// Between two turns of a kernel no thread is inside the watched code, so they are asked again soon,
// to get a place to report. The parent waits for 3 seconds.
void ask_again(double most_s = 2) {
  if (overdue() > most_s) send_failure(Failure::kTimeout);
  alarm_in(0.001);
}
void on_own_turn(int) {
  if (is_inside()) send_failure(Failure::kTimeout);
  ask_again();
}
// The alarm may arrive on any thread. At first the watched code itself is asked for its place: an
// alarm could find it between two turns each time. Code that does not answer is interrupted.
void on_alarm(int signal) {
  const auto call_inside = this_child.guard->watched.call_inside;
  if (call_inside != nullptr && overdue() < 0.2) {
    call_inside([] { raise(SIGUSR1); });
    return alarm_in(0.001);
  }
  const auto thread_to_ask = this_child.guard->watched.thread_to_ask;
  const std::optional<pthread_t> asked =
      thread_to_ask != nullptr ? thread_to_ask() : std::optional<pthread_t>();
  if (!asked) return ask_again(0.5);
  if (pthread_equal(*asked, pthread_self())) {
    on_own_turn(signal);
  } else {
    pthread_kill(*asked, SIGUSR1);
  }
}
void on_exit_of_watched() {
  if (this_child.watching) send_failure(Failure::kExit);
}

}  // namespace

void install_handlers() {
  const auto install = [](int signal, auto handler) {
    struct sigaction action {};
    if constexpr (std::is_same_v<decltype(handler), void (*)(int)>) {
      action.sa_handler = handler;
    } else {
      action.sa_sigaction = handler;
      action.sa_flags = SA_SIGINFO;
    }
    action.sa_flags |= SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  };
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGXCPU, SIGSYS}) {
    install(signal, on_crash);
  }
  install(SIGALRM, +on_alarm);
  install(SIGUSR1, +on_own_turn);
  std::atexit(on_exit_of_watched);
  void* warm_up[1];
  backtrace(warm_up, 1);  // its first call loads a library, which a handler must not do
}

void give_signal_stacks() {
#pragma omp parallel
  {
    constexpr std::size_t kBytes = 64 * 1024;
    static thread_local std::unique_ptr<char[]> memory;
    if (!memory) {
      memory.reset(new char[kBytes]);
      stack_t stack{};
      stack.ss_sp = memory.get();
      stack.ss_size = kBytes;
      sigaltstack(&stack, nullptr);
    }
  }
}

void alarm_in(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace guard
