#include "guard/guard.h"

#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <omp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
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
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "cuda/vector_types.h"
#include "machine/grid.h"
#include "model/refusal.h"
#include "try/device_calls.h"

extern const __thread uint3 threadIdx;
extern const __thread uint3 blockIdx;

namespace guard {
namespace {

// What the child writes into the pipe, each followed by its contents.
enum class Message : char { kBegin, kEnd, kReport, kSentence, kFailure };

struct Header {
  Message message;
  int exit_code;  // but with a report
  std::size_t bytes;
};

// Where the watched code was when it failed. Filled by a signal handler, so it holds no pointers
// into the heap.
struct Failure {
  enum Kind { kTimeout, kSignal, kExit } kind;
  int signal;
  void* address;  // that a SIGSEGV is about
  bool misaligned;
  bool in_kernel;
  char kernel[256];
  uint3 block, thread;
  int frames;
  void* frame[48];  // return addresses, innermost first
};

// Of the child.
int pipe_to_parent = -1;
double limit_s = 0;
std::atomic<bool> watching = false;
std::atomic_flag failed = ATOMIC_FLAG_INIT;

void write_all(const void* data, std::size_t bytes) {
  for (auto* from = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = write(pipe_to_parent, from, bytes);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) from += written, bytes -= written;
  }
}

void send(Message message, int exit_code = 0, const void* data = nullptr, std::size_t bytes = 0) {
  const Header header{message, exit_code, bytes};
  write_all(&header, sizeof header);
  write_all(data, bytes);
}

// Ends the child. May be called from a signal handler, on any thread: the first one counts.
[[noreturn]] void send_failure(
    Failure::Kind kind, int signal, void* address, bool misaligned = false) {
  if (failed.test_and_set()) {
    while (true) pause();
  }
  attempt::print_held();
  static Failure failure;
  failure.kind = kind;
  failure.signal = signal;
  failure.address = address;
  failure.misaligned = misaligned;
  failure.in_kernel = machine::in_kernel();
  std::strncpy(failure.kernel, machine::kernel_name(), sizeof failure.kernel - 1);
  failure.block = blockIdx;
  failure.thread = threadIdx;
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

// A thread of the operating system that runs blocks is asked again soon if it is between two
// threads of the kernel, so that there is a line to tell.
void on_own_turn(int) {
  static std::atomic<int> asked = 0;
  if (machine::in_kernel() || ++asked > 500) send_failure(Failure::kTimeout, 0, nullptr);
  alarm_in(0.001);
}
// The alarm may reach any thread, and the one to ask is the one that runs the first block.
void on_alarm(int signal) {
  const std::optional<pthread_t> runner = machine::runner_of_first_block();
  if (!runner) send_failure(Failure::kTimeout, 0, nullptr);
  if (pthread_equal(*runner, pthread_self())) {
    on_own_turn(signal);
  } else {
    pthread_kill(*runner, SIGUSR1);
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
// A fiber's stack may be what is broken, so handlers have their own. OpenMP keeps its threads.
#pragma omp parallel
  {
    constexpr std::size_t kBytes = 64 * 1024;
    static thread_local std::unique_ptr<char[]> memory(new char[kBytes]);
    stack_t stack{};
    stack.ss_sp = memory.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, nullptr);
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

[[noreturn]] void be_the_child(const Work& work) {
  dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash must not be lost
  install_handlers();
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
  } catch (const machine::KernelFault& fault) {
    say(1, fault.what(), fault.place);
  } catch (const model::Refusal& refusal) {
    say(2, refusal.what(), nullptr);
  } catch (const std::bad_alloc&) {
    say(1,
        watching ? "sgemm asks for more memory than it may have"
                 : "there is not enough memory; choose a smaller --size",
        nullptr);
  } catch (const std::exception& exception) {
    say(1, std::string("sgemm throws an exception: ") + exception.what(), nullptr);
  }
  std::fflush(nullptr);
  _exit(0);
}

// The first place among `frames` that is in other people's code: "tiled.cu:12", or nothing.
std::string source_line(const std::vector<const void*>& frames) {
  std::uintptr_t loaded_at = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* address) {
        *static_cast<std::uintptr_t*>(address) = info->dlpi_addr;
        return 1;  // the executable comes first
      },
      &loaded_at);
  std::string command =
      "addr2line -i -e '" + std::filesystem::read_symlink("/proc/self/exe").string() + "'";
  for (const void* frame : frames) {
    char text[32];
    std::snprintf(
        text, sizeof text, " %#zx", reinterpret_cast<std::uintptr_t>(frame) - loaded_at - 1);
    command += text;
  }
  std::FILE* lines = popen((command + " 2>/dev/null").c_str(), "r");
  if (lines == nullptr) return "";
  std::string found;
  char buffer[4096];
  const std::string here = std::filesystem::current_path().string() + "/";
  while (std::fgets(buffer, sizeof buffer, lines) != nullptr) {
    std::string line(buffer, std::strcspn(buffer, " \n"));
    const bool ours = line.find("/src/") != line.npos || line.starts_with("/usr/") ||
                      line.starts_with("??") || line.ends_with(":?") || line.ends_with(":0") ||
                      line.find("/../sysdeps/") != line.npos || line.starts_with("./");
    if (!found.empty() || ours) continue;
    found = line.starts_with(here) ? line.substr(here.size()) : line;
  }
  pclose(lines);
  return found;
}

std::string text_of(uint3 v) {
  return "(" + std::to_string(v.x) + ", " + std::to_string(v.y) + ", " + std::to_string(v.z) + ")";
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
  if (!failure.in_kernel) {
    const std::string within = *failure.kernel != '\0' ? failure.kernel : guard.watched;
    return within + " " + what;
  }
  return std::string(failure.kernel) + ", block " + text_of(failure.block) + ", thread " +
         text_of(failure.thread) + ": it " + what;
}

// Reads exactly `bytes`; false where the pipe ends or the deadline passes before.
bool read_all(
    int pipe, void* to, std::size_t bytes,
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  for (auto* into = static_cast<char*>(to); bytes > 0;) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = *deadline - std::chrono::steady_clock::now();
      wait_ms = std::max<int>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    pollfd ready{pipe, POLLIN, 0};
    const int events = poll(&ready, 1, wait_ms);
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return false;
    const ssize_t got = read(pipe, into, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    bytes -= got;
  }
  return true;
}

}  // namespace

Ended run_in_child(const Guard& guard, const Work& work) {
  limit_s = guard.limit_s;
  int ends[2];
  std::fflush(nullptr);
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw model::Refusal("there is no pipe to be had from the system");
  const pid_t child = fork();
  if (child < 0) throw model::Refusal("the system starts no further process");
  if (child == 0) {
    close(ends[0]);
    pipe_to_parent = ends[1];
    be_the_child(work);
  }
  close(ends[1]);

  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::optional<Ended> ended;
  std::string report;
  Header header{};
  while (!ended && read_all(ends[0], &header, sizeof header, deadline)) {
    std::string contents(header.bytes, '\0');
    if (!read_all(ends[0], contents.data(), header.bytes, deadline)) break;
    if (header.message == Message::kBegin) {
      // Later than the child's own alarm: for code that holds that off.
      deadline = std::chrono::steady_clock::now() +
                 std::chrono::milliseconds(static_cast<long>(1000 * guard.limit_s) + 3000);
    } else if (header.message == Message::kEnd) {
      deadline.reset();
    } else if (header.message == Message::kReport) {
      report = std::move(contents);
    } else if (header.message == Message::kSentence) {
      const void* place;
      std::memcpy(&place, contents.data(), sizeof place);
      const std::string sentence = contents.substr(sizeof place);
      const auto how = header.exit_code == 2 ? Ended::refused
                       : sentence.empty()    ? Ended::done
                                             : Ended::complained;
      ended = {
          how, header.exit_code, report, place != nullptr ? source_line({place}) : "", sentence};
    } else {
      Failure failure;
      std::memcpy(&failure, contents.data(), sizeof failure);
      ended = {
          failure.kind == Failure::kTimeout ? Ended::timed_out : Ended::died, header.exit_code, "",
          source_line(std::vector<const void*>(failure.frame, failure.frame + failure.frames)),
          sentence_of(failure, guard)};
    }
  }
  const bool late = deadline && std::chrono::steady_clock::now() >= *deadline;
  if (!ended) kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (ended) return *ended;
  if (late) return {Ended::timed_out, 1, "", "", guard.watched + " does not stop, and was ended"};
  return {Ended::died, 1, "", "", guard.watched + " ends the program before it is done"};
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
  static const bool limited = (limit_resources(), true);
  static_cast<void>(limited);
  send(Message::kBegin);
  watching = true;
  alarm_in(limit_s);
  code();
  alarm_in(0);
  watching = false;
  send(Message::kEnd);
}

}  // namespace guard
