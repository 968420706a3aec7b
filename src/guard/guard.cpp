#include "guard/guard.h"

#include <execinfo.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace guard {
namespace {

// What the two say to each other, each followed by its contents. The parent says kAnswer alone.
enum class Message : char { kBegin, kEnd, kReport, kQuestion, kAnswer, kSentence, kFailure };

constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of a message that makes sense

struct Header {
  Message message;
  int exit_code;  // with kSentence and kFailure
  std::size_t bytes;
};

// Where the watched code was when it failed. Filled by a signal handler, so it holds no pointers
// into the heap.
struct Failure {
  enum Kind { kTimeout, kSignal, kExit } kind;
  int signal;
  void* address;  // that a SIGSEGV is about
  bool misaligned;
  bool inside;
  char words[384];
  int frames;
  void* frame[48];  // return addresses, innermost first
};

// Of the child.
int to_parent = -1;
const Guard* current = nullptr;
std::atomic<bool> watching = false;
std::atomic_flag failed = ATOMIC_FLAG_INIT;

// False where nobody listens any more.
bool write_all(int socket, const void* data, std::size_t bytes) {
  for (auto* from = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::send(socket, from, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) from += written, bytes -= written;
  }
  return true;
}

void send(Message message, int exit_code = 0, const void* data = nullptr, std::size_t bytes = 0) {
  const Header header{message, exit_code, bytes};
  if (!write_all(to_parent, &header, sizeof header) || !write_all(to_parent, data, bytes)) _exit(1);
}

// Reads exactly `bytes`; false where there are no more or the deadline passes before.
bool read_all(
    int socket, void* to, std::size_t bytes,
    std::optional<std::chrono::steady_clock::time_point> deadline = {}) {
  for (auto* into = static_cast<char*>(to); bytes > 0;) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = *deadline - std::chrono::steady_clock::now();
      wait_ms = std::max<int>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    pollfd ready{socket, POLLIN, 0};
    const int events = poll(&ready, 1, wait_ms);
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return false;
    const ssize_t got = read(socket, into, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    bytes -= got;
  }
  return true;
}

bool is_inside() {
  const auto asked = current->watched.is_inside;
  return asked != nullptr && asked();
}

// Ends the child. May be called from a signal handler, on any thread: the first one counts.
[[noreturn]] void send_failure(
    Failure::Kind kind, int signal, void* address, bool misaligned = false) {
  if (failed.test_and_set()) {
    while (true) pause();
  }
  const Watched& code = current->watched;
  if (code.before_failure != nullptr) code.before_failure();
  static Failure failure;
  failure.kind = kind;
  failure.signal = signal;
  failure.address = address;
  failure.misaligned = misaligned;
  failure.inside = is_inside();
  if (code.describe != nullptr) code.describe(failure.words, sizeof failure.words);
  failure.frames = backtrace(failure.frame, std::size(failure.frame));
  send(Message::kFailure, 1, &failure, sizeof failure);
  _exit(1);
}

void on_crash(int signal, siginfo_t* info, void*) {
  static std::atomic<pid_t> first = 0;
  pid_t before = 0;
  if (!first.compare_exchange_strong(before, gettid()) && before == gettid()) {
    // This handler itself crashes. (Of other threads that crash meanwhile it must not be the end:
    // they wait in send_failure.)
    struct sigaction as_usual {};
    as_usual.sa_handler = SIG_DFL;
    sigaction(signal, &as_usual, nullptr);
    return;
  }
  // What x86 says of a 16-byte move to no multiple of 16: a fault, but of no address.
  const bool misaligned = (signal == SIGSEGV && info->si_code == SI_KERNEL) ||
                          (signal == SIGBUS && info->si_code == BUS_ADRALN);
  send_failure(Failure::kSignal, signal, info->si_addr, misaligned);
}

void alarm_in(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// A thread that is not inside is asked again soon, so that there is a place to tell.
void on_own_turn(int) {
  static std::atomic<int> asked = 0;
  if (is_inside() || ++asked > 500) send_failure(Failure::kTimeout, 0, nullptr);
  alarm_in(0.001);
}
// The alarm may reach any thread.
void on_alarm(int signal) {
  const auto thread_to_ask = current->watched.thread_to_ask;
  const std::optional<pthread_t> asked =
      thread_to_ask != nullptr ? thread_to_ask() : std::optional<pthread_t>();
  if (!asked) send_failure(Failure::kTimeout, 0, nullptr);
  if (pthread_equal(*asked, pthread_self())) {
    on_own_turn(signal);
  } else {
    pthread_kill(*asked, SIGUSR1);
  }
}
void on_exit_of_watched() {
  if (watching) send_failure(Failure::kExit, 0, nullptr);
}

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
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGXCPU}) {
    install(signal, on_crash);
  }
  install(SIGALRM, +on_alarm);
  install(SIGUSR1, +on_own_turn);
  std::atexit(on_exit_of_watched);
  void* warm_up[1];
  backtrace(warm_up, 1);  // its first call loads a library, which no handler may do
}

// What is broken may be a stack, so handlers have their own, on this thread and on those that
// OpenMP gives it and keeps for it.
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

void limit_resources() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // What there is, a part for each core's fibers and heap, and 2 GiB for the code itself.
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t memory = pages * sysconf(_SC_PAGESIZE) + (std::size_t{2} << 30) +
                        omp_get_max_threads() * (std::size_t{256} << 20);
  const rlimit address_space{memory, memory};
  setrlimit(RLIMIT_AS, &address_space);
}

Thrown explained(const std::exception& exception) {
  const Watched& code = current->watched;
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

[[noreturn]] void be_the_child(const Work& work) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash must not be lost
  install_handlers();
  if (current->watched.begin != nullptr) current->watched.begin();
  const auto say = [](int exit_code, const std::string& sentence, const void* place) {
    const std::string text =
        std::string(reinterpret_cast<const char*>(&place), sizeof place) + sentence;
    send(Message::kSentence, exit_code, text.data(), text.size());
  };
  try {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* report = open_memstream(&text, &bytes);
    const auto [exit_code, complaint] = work(report);
    std::fclose(report);
    send(Message::kReport, 0, text, bytes);
    say(exit_code, complaint, nullptr);
  } catch (const std::exception& exception) {
    const Thrown thrown = explained(exception);
    say(thrown.exit_code, thrown.sentence, thrown.place);
  }
  std::fflush(nullptr);
  _exit(0);
}

std::string sentence_of(const Failure& failure, const Guard& guard) {
  std::string what;
  char text[96];
  switch (failure.kind) {
    case Failure::kTimeout:
      std::snprintf(
          text, sizeof text, "is still running after %g s, perhaps in an endless loop",
          guard.limit_s);
      what = text;
      break;
    case Failure::kExit:
      what = "ends the program by exit()";
      break;
    case Failure::kSignal:
      if (failure.misaligned) {
        what =
            "crashes at a vector access that is not aligned: a float4 begins at a multiple of 16 "
            "bytes";
      } else if (failure.signal == SIGSEGV || failure.signal == SIGBUS) {
        std::snprintf(
            text, sizeof text, "crashes: it reaches for memory that is not there (%p)",
            failure.address);
        what = text;
      } else if (failure.signal == SIGFPE) {
        what = "crashes: it divides an integer by zero";
      } else if (failure.signal == SIGABRT) {
        what = "gives up: it calls abort(), fails an assert, or throws an exception";
      } else {
        what = std::string("is stopped: ") + strsignal(failure.signal);
      }
  }
  const std::string words(failure.words, strnlen(failure.words, sizeof failure.words));
  if (failure.inside) return words + ": it " + what;
  return (words.empty() ? guard.watched.name : words) + " " + what;
}

std::string line_of(const Guard& guard, const std::vector<const void*>& frames) {
  const auto known = guard.watched.line_of;
  return known != nullptr && !frames.empty() ? known(frames) : "";
}

// The end that the child tells by a kSentence.
Ended told_end(const Guard& guard, int exit_code, const std::string& contents) {
  const void* place = nullptr;
  std::memcpy(&place, contents.data(), std::min(sizeof place, contents.size()));
  const std::string sentence = contents.substr(std::min(sizeof place, contents.size()));
  const auto how = exit_code == 2     ? Ended::refused
                   : sentence.empty() ? Ended::done
                                      : Ended::complained;
  std::vector<const void*> frames;
  if (place != nullptr) frames = {place};
  return {how, exit_code, "", line_of(guard, frames), sentence};
}

// And by a kFailure.
Ended failed_end(const Guard& guard, int exit_code, const std::string& contents) {
  Failure failure{};
  std::memcpy(&failure, contents.data(), std::min(sizeof failure, contents.size()));
  const int count = std::clamp<int>(failure.frames, 0, std::size(failure.frame));
  const std::vector<const void*> frames(failure.frame, failure.frame + count);
  return {
      failure.kind == Failure::kTimeout ? Ended::timed_out : Ended::died, exit_code, "",
      line_of(guard, frames), sentence_of(failure, guard)};
}

}  // namespace

Ended run_in_child(const Guard& guard, const Work& work) {
  int ends[2];
  std::fflush(nullptr);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw NoChild("there is no pipe to be had from the system");
  const pid_t child = fork();
  if (child < 0) throw NoChild("the system starts no further process");
  if (child == 0) {
    close(ends[0]);
    to_parent = ends[1];
    current = &guard;
    be_the_child(work);
  }
  close(ends[1]);

  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<Ended> ended;
  std::string report;
  Header header{};
  while (!ended && read_all(ends[0], &header, sizeof header, deadline)) {
    if (header.bytes > kMostBytes) break;
    std::string contents(header.bytes, '\0');
    if (!read_all(ends[0], contents.data(), header.bytes, deadline)) break;
    switch (header.message) {
      case Message::kBegin:
        // Later than the child's own alarm: for code that holds that off.
        deadline = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<long>(1000 * guard.limit_s) + 3000);
        break;
      case Message::kEnd:
        deadline.reset();
        break;
      case Message::kReport:
        report = std::move(contents);
        break;
      case Message::kQuestion: {
        const auto asked = guard.watched.answer;
        const std::string answer = asked != nullptr ? asked(contents) : "";
        const Header before{Message::kAnswer, 0, answer.size()};
        // A child that has gone is noticed by the next reading.
        if (write_all(ends[0], &before, sizeof before)) {
          write_all(ends[0], answer.data(), answer.size());
        }
        break;
      }
      case Message::kSentence:
        ended = told_end(guard, header.exit_code, contents);
        break;
      default:
        ended = failed_end(guard, header.exit_code, contents);
    }
  }
  const bool late = deadline && std::chrono::steady_clock::now() >= *deadline;
  if (!ended) kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    const std::string& name = guard.watched.name;
    ended = late ? Ended{Ended::timed_out, 1, "", "", name + " does not stop, and was ended"}
                 : Ended{Ended::died, 1, "", "", name + " ends the program before it is done"};
  }
  ended->report = std::move(report);
  ended->watched = deadline.has_value();
  return *ended;
}

int run_guarded(const Guard& guard, const Work& work) {
  const Ended ended = run_in_child(guard, work);
  std::fwrite(ended.report.data(), 1, ended.report.size(), stdout);
  std::fflush(stdout);
  if (!ended.sentence.empty()) {
    std::fprintf(
        stderr, "%s: %s%s\n", guard.said_by.c_str(),
        ended.line.empty() ? "" : (ended.line + ": ").c_str(), ended.sentence.c_str());
  }
  return ended.exit_code;
}

void watched(const std::function<void()>& code) {
  give_signal_stacks();
  static const bool limited = (limit_resources(), true);
  static_cast<void>(limited);
  send(Message::kBegin);
  watching = true;
  alarm_in(current->limit_s);
  code();
  alarm_in(0);
  watching = false;
  send(Message::kEnd);
}

void report_until_now(const std::string& report) {
  send(Message::kReport, 0, report.data(), report.size());
}

std::string ask(const std::string& question) {
  send(Message::kQuestion, 0, question.data(), question.size());
  Header header{};
  if (!read_all(to_parent, &header, sizeof header)) _exit(1);
  std::string answer(header.bytes, '\0');
  if (!read_all(to_parent, answer.data(), answer.size())) _exit(1);
  return answer;
}

}  // namespace guard
