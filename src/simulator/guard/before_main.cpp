// Linked only into programs that call main_begins(): from the start of each of them, a constructor
// watches over its static initializers.
#include "simulator/guard/guard.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace guard {
namespace {

bool main_began = false;

[[noreturn]] void give_up(const char* what) {
  for (const char* part : {"static initializers, which run before all else, ", what}) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(1);
}

constexpr int kSignals[] = {SIGPROF, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

void on_signal(int signal) {
  give_up(
      signal == SIGPROF   ? "are still running at the time limit, perhaps in an endless loop\n"
      : signal == SIGALRM ? "have not ended after ten times the time limit: they wait\n"
                          : "crash, or throw an exception\n");
}
void on_exit() {
  if (!main_began) give_up("end the program by exit()\n");
}

// Processor time of all threads, and ten times as much by the clock for those that wait.
void alarm_in(double seconds) {
  for (const int timer : {ITIMER_PROF, ITIMER_REAL}) {
    itimerval time{};
    time.it_value.tv_sec = static_cast<time_t>(seconds);
    time.it_value.tv_usec =
        static_cast<suseconds_t>((seconds - static_cast<double>(time.it_value.tv_sec)) * 1e6);
    setitimer(static_cast<__itimer_which>(timer), &time, nullptr);
    seconds *= 10;
  }
}

// Before the initializers of other files, which have no priority or a lower one.
[[gnu::constructor(101)]] void watch_initializers(int argc, char** argv) {
  double seconds = 10;
  for (int i = 1; i + 1 < argc; ++i) {
    const double given = std::strcmp(argv[i], "--limit") == 0 ? std::atof(argv[i + 1]) : 0;
    if (given >= 0.1 && given <= 86400) seconds = given;
  }
  for (const int on : kSignals) signal(on, on_signal);
  std::atexit(on_exit);
  alarm_in(seconds);
}

}  // namespace

void main_begins() {
  main_began = true;
  alarm_in(0);
  for (const int on : kSignals) signal(on, SIG_DFL);
}

}  // namespace guard
