#include "guard/child.h"

#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <optional>
#include <string>

#include "guard/signals.h"

namespace guard {

constinit Child this_child;

namespace {

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
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what was printed before a crash must not be lost
  install_handlers();
  if (guard.watched.begin != nullptr) guard.watched.begin();
  try {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* report = open_memstream(&text, &bytes);
    const auto [exit_code, complaint] = work(report);
    std::fclose(report);
    tell(Message::kReport, 0, text, bytes);
    say(exit_code, {nullptr, complaint});
  } catch (const std::exception& exception) {
    const Thrown thrown = explained(exception);
    say(thrown.exit_code, {thrown.place, thrown.sentence});
  }
  std::fflush(nullptr);
  _exit(0);
}

void tell(Message message, int exit_code, const void* data, std::size_t bytes) {
  if (!send(this_child.to_parent, message, exit_code, data, bytes)) _exit(1);
}

void watched(const std::function<void()>& code) {
  give_signal_stacks();
  static const bool limited = (limit_resources(), true);
  static_cast<void>(limited);
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
  const std::optional<Received> answer = receive(this_child.to_parent);
  if (!answer) _exit(1);
  return answer->contents;
}

}  // namespace guard
