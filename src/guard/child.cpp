#include "guard/child.h"

#include <omp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "guard/fresh_threads.h"
#include "guard/lock.h"
#include "guard/signals.h"

namespace guard {

constinit Child this_child;

namespace {

// Watched code may have used up all memory when it fails, and a sentence needs some.
std::unique_ptr<char[]> reserve;
constexpr std::size_t kReserveBytes = std::size_t{1} << 20;

}  // namespace

namespace {

void limit(int resource, rlim_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

void limit_memory(int code_gib) {
  limit(RLIMIT_CORE, 0);
  // The current size, plus 256 MiB per core for fibers and heap, plus some for the code itself.
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
    const double seconds =
        used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + std::ceil(most_s) * omp_get_max_threads();
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
    say(exit_code, {nullptr, complaint});
  } catch (const std::exception& exception) {
    reserve.reset();
    const Thrown thrown = explained(exception);
    std::fflush(nullptr);
    say(thrown.exit_code, {thrown.place, thrown.sentence});
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
  this_child.watching = true;
  alarm_in(this_child.guard->limit_s);
  code();
  alarm_in(0);
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
