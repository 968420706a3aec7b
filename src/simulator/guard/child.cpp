#include "simulator/guard/child.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <thread>

#include "simulator/guard/guard.h"

namespace guard {
namespace {

struct Fresh {
  std::binary_semaphore made{0}, turn{0};
  const std::function<void()>* code = nullptr;
  std::exception_ptr thrown;
  std::thread thread;

  void run() {
    try {
      (*code)();
    } catch (...) {
      thrown = std::current_exception();
    }
  }
};

// Never destroyed: a child ends while its unused fresh threads still wait.
std::deque<std::unique_ptr<Fresh>>& waiting() {
  static auto& threads = *new std::deque<std::unique_ptr<Fresh>>;
  return threads;
}

}  // namespace

int team_size() {
  constexpr int kMost = 16;  // each fresh thread has the same number
  return std::min(omp_get_max_threads(), kMost);
}

void make_team(int size) {
  omp_set_dynamic(0);
  omp_set_num_threads(size);
  give_signal_stacks();
}

void make_fresh_threads(std::size_t count) {
  const std::size_t before = waiting().size();
  const int team = team_size();
  for (std::size_t i = 0; i < count; ++i) {
    Fresh& fresh = *waiting().emplace_back(std::make_unique<Fresh>());
    fresh.thread = std::thread([&fresh, team] {
      make_team(team);
      fresh.made.release();
      fresh.turn.acquire();
      fresh.run();
    });
  }
  for (std::size_t i = before; i < waiting().size(); ++i) waiting()[i]->made.acquire();
}

void on_fresh_thread(const std::function<void()>& code) {
  if (waiting().empty()) {
    if (this_child.locked) throw std::logic_error("no fresh thread is left");
    make_fresh_threads(1);
  }
  const std::unique_ptr<Fresh> fresh = std::move(waiting().front());
  waiting().pop_front();
  fresh->code = &code;
  fresh->turn.release();
  fresh->thread.join();
  if (fresh->thrown) std::rethrow_exception(fresh->thrown);
}

namespace {

std::atomic_flag failed = ATOMIC_FLAG_INIT;

bool is_inside() {
  const auto is_inside_watched = this_child.guard->watched.is_inside;
  return is_inside_watched != nullptr && is_inside_watched();
}

Frames frames_of_stack() {
  void* frames[std::tuple_size_v<Frames>];
  const int known = backtrace(frames, std::size(frames));
  Frames all{};
  std::copy(frames, frames + known, all.begin());
  return all;
}

thread_local void* crashed_at = nullptr;  // the instruction, if this thread crashes

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
  failure = what;
  failure.inside = is_inside();
  if (code.describe != nullptr) code.describe(failure.words, sizeof failure.words);
  if (code.describe_address != nullptr && failure.address != nullptr) {
    code.describe_address(failure.address, failure.at, sizeof failure.at);
  }
  failure.frames = failure.called_from != nullptr ? Frames{failure.called_from} : frames_of_stack();
  // The others are return addresses, whose line is that of the byte before them.
  for (const void*& frame : failure.frames) {
    if (frame != nullptr && frame == crashed_at) frame = static_cast<const char*>(frame) + 1;
  }
  tell(Message::kFailure, 1, &failure, sizeof failure);
  _exit(1);
}

// The registers at a signal: of a refused system call, its arguments.
struct Refused {
  explicit Refused(void* context) : registers(static_cast<ucontext_t*>(context)->uc_mcontext) {}
#if defined(__x86_64__)
  void* instruction() const {
    return reinterpret_cast<void*>(registers.gregs[REG_RIP]);
  }
  long first() const {
    return registers.gregs[REG_RDI];
  }
  long second() const {
    return registers.gregs[REG_RSI];
  }
  // After a call whose first instruction has not run.
  void* caller() const {
    return *reinterpret_cast<void**>(registers.gregs[REG_RSP]);
  }
  void fail(int error) {
    registers.gregs[REG_RAX] = -error;
  }
#else
  void* instruction() const {
    return reinterpret_cast<void*>(registers.pc);
  }
  long first() const {
    return static_cast<long>(registers.regs[0]);
  }
  long second() const {
    return static_cast<long>(registers.regs[1]);
  }
  void* caller() const {
    return reinterpret_cast<void*>(registers.regs[30]);
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
  crashed_at = refused.instruction();
  Failure failure{};
  failure.kind = Failure::kSignal;
  failure.signal = signal;
  failure.address = info->si_addr;
  if (signal == SIGSEGV && crashed_at == failure.address) failure.called_from = refused.caller();
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
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const auto now = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  static std::atomic<double> first = 0;
  double never = 0;
  first.compare_exchange_strong(never, now);
  return now - first;
}

void alarm_soon() {
  const itimerval timer{{}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Between two turns of a kernel no thread is inside the watched code, so they are asked again soon,
// to get a place to report. The parent waits for 3 seconds.
void ask_again(double most_s = 2) {
  if (overdue() > most_s) send_failure(Failure::kTimeout);
  alarm_soon();
}
void on_own_turn(int, siginfo_t*, void*) {
  if (is_inside()) send_failure(Failure::kTimeout);
  ask_again();
}
// The parent's alarm may arrive on any thread. At first the watched code itself is asked for its
// place: an alarm could find it between two turns each time. Code that does not answer is
// interrupted.
void on_alarm(int, siginfo_t*, void*) {
  if (!this_child.watching) return;  // it has just ended
  const auto call_inside = this_child.guard->watched.call_inside;
  if (call_inside != nullptr && overdue() < 0.2) {
    call_inside([] { raise(SIGUSR1); });
    return alarm_soon();
  }
  const auto thread_to_ask = this_child.guard->watched.thread_to_ask;
  const std::optional<pthread_t> thread =
      thread_to_ask != nullptr ? thread_to_ask() : std::optional<pthread_t>();
  if (thread) {
    pthread_kill(*thread, SIGUSR1);  // perhaps to this one
  } else if (overdue() > 0.5 && !pthread_equal(this_child.watched_thread, pthread_self())) {
    // An idle thread of OpenMP is not in the watched code, so its place would say nothing.
    pthread_kill(this_child.watched_thread, SIGALRM);
  } else {
    ask_again(0.5);
  }
}
void on_exit_of_watched() {
  if (this_child.watching) send_failure(Failure::kExit);
}

}  // namespace

void install_handlers() {
  const auto install = [](int signal, void (*handler)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  };
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGXCPU, SIGSYS}) {
    install(signal, on_crash);
  }
  install(SIGALRM, on_alarm);
  install(SIGUSR1, on_own_turn);
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

constinit Child this_child;

namespace {

// Where this thread has thrown last: nothing of the stack is left when an exception is caught.
thread_local const void* last_thrown = nullptr;
thread_local Frames thrown_at = {};

// Watched code may have used up all memory when it fails, and a sentence needs some.
std::unique_ptr<char[]> reserve;
constexpr std::size_t kReserveBytes = std::size_t{1} << 20;

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

void limit_memory(int code_gib) {
  limit(RLIMIT_CORE, 0);
  // The current size, plus 256 MiB per core for the heap, plus some for the code itself.
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  limit(
      RLIMIT_AS, pages * sysconf(_SC_PAGESIZE) + (static_cast<std::size_t>(code_gib) << 30) +
                     omp_get_max_threads() * (std::size_t{256} << 20));
}

// The second line of defence after the lock: no file can grow, no file can be opened, no process
// can be started, and a child without a parent ends.
void limit_the_rest() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGXFSZ, SIG_IGN);  // a failed write must not end the process
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_NPROC, 0);
  if (const double most_s = this_child.guard->whole_limit_s; most_s > 0) {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + std::ceil(most_s);
    rlimit processor{};
    getrlimit(RLIMIT_CPU, &processor);  // it may already be lower
    processor.rlim_cur = std::min(processor.rlim_cur, static_cast<rlim_t>(seconds));
    // One second lies between the signal, which identifies this cause, and the kill.
    processor.rlim_max = std::min(processor.rlim_max, processor.rlim_cur + 1);
    setrlimit(RLIMIT_CPU, &processor);
  }
}

Thrown explained(const std::exception& exception) {
  const Watched& code = this_child.guard->watched;
  const bool watching = this_child.watching;
  if (code.explain != nullptr) {
    if (const std::optional<Thrown> thrown = code.explain(exception, watching)) return *thrown;
  }
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return {
        1, watching ? code.name + " asks for more memory than it may have"
                    : "there is not enough memory"};
  }
  return {1, code.name + " throws an exception: " + exception.what()};
}

void say(int exit_code, const Sentence& sentence) {
  const std::string contents = packed(sentence);
  tell(Message::kSentence, exit_code, contents.data(), contents.size());
}

}  // namespace

void be_the_child(const Guard& guard, int to_parent, const Work& work) {
  this_child.to_parent = to_parent;
  this_child.guard = &guard;
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // output printed before a crash must not be lost
  install_handlers();
  if (guard.watched.begin != nullptr) guard.watched.begin();
  try {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* report = open_memstream(&text, &bytes);
    const auto [exit_code, complaint] = work(report);
    std::fclose(report);
    std::fflush(nullptr);  // before the last message, after which the parent does not wait
    tell(Message::kReport, 0, text, bytes);
    say(exit_code, {{}, complaint});
  } catch (const std::exception& exception) {
    reserve.reset();
    const Thrown thrown = explained(exception);
    std::fflush(nullptr);
    // A refusal is about a whole launch, or a flag.
    const bool is_last =
        thrown.exit_code == 1 && dynamic_cast<const void*>(&exception) == last_thrown;
    const Frames place = {thrown.place};
    say(thrown.exit_code,
        {thrown.place == nullptr && is_last ? thrown_at : place, thrown.sentence});
  } catch (...) {
    std::fflush(nullptr);
    say(1, {thrown_at, guard.watched.name + " throws an exception that is not a std::exception"});
  }
  _exit(0);
}

void tell(Message message, int exit_code, const void* data, std::size_t bytes) {
  if (!send(this_child.to_parent, message, exit_code, data, bytes)) _exit(1);
}

void watched(const std::function<void()>& code) {
  give_signal_stacks();
  static const bool limited = this_child.locked || (limit_memory(4), true);
  static_cast<void>(limited);
  if (!reserve) reserve = std::make_unique<char[]>(kReserveBytes);
  tell(Message::kBegin);
  this_child.watched_thread = pthread_self();
  this_child.watching = true;
  code();
  this_child.watching = false;
  tell(Message::kEnd);
}

void report_until_now(const std::string& report) {
  tell(Message::kReport, 0, report.data(), report.size());
}

std::string ask(const std::string& question) {
  tell(Message::kQuestion, 0, question.data(), question.size());
  const Received answer = receive(this_child.to_parent);
  if (answer.what != Received::message) _exit(1);
  return answer.contents;
}

void lock(std::size_t fresh_threads) {
  make_team(team_size());
  make_fresh_threads(fresh_threads);
  limit_memory(2);
  this_child.locked = true;
  limit_the_rest();
  if (const auto refused = lock_system_calls(this_child.to_parent)) {
    tell(Message::kUnlocked, 0, refused->data(), refused->size());
  }
}

}  // namespace guard

// Stands before the C++ library's function of this name, for all throws of the program and of its
// libraries. (Compilers differ about its declaration.)
extern "C" void throw_noting_where(void*, void*, void (*)(void*)) __asm__("__cxa_throw");
void throw_noting_where(void* object, void* type, void (*destroy)(void*)) {
  if (guard::this_child.watching && !guard::is_inside()) {
    guard::last_thrown = object;
    guard::thrown_at = guard::frames_of_stack();
  }
  static const auto library =
      reinterpret_cast<void (*)(void*, void*, void (*)(void*))>(dlsym(RTLD_NEXT, "__cxa_throw"));
  library(object, type, destroy);
}
