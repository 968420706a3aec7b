#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "simulator/guard/child.h"
#include "simulator/guard/guard.h"
#include "testing/program.h"

namespace guard {

TEST_CASE("static initializers that loop, crash, throw or exit are reported in one sentence") {
  const testing::Folder folder;
  folder.write("program.cpp", R"(
#include <cstdlib>
#include <stdexcept>
#include <string>
#include "simulator/guard/guard.h"
struct First {
  First() {
    const std::string what = std::getenv("WHAT");
    for (volatile bool on = what == "loop"; on;);
    if (what == "crash") *reinterpret_cast<volatile int*>(8) = 1;
    if (what == "throw") throw std::runtime_error("");
    if (what == "exit") std::exit(0);
  }
} first;
int main() {
  guard::main_begins();
  std::exit(7);
}
)");
  const testing::Output built = testing::run(
      ". '" + (testing::built() / "grade/environment").string() + "'; $CXX -iquote src '" +
      folder / "program.cpp" + "' '" +
      (testing::built() / "src/simulator/guard/before_main.o").string() + "' $LIBRARIES -o '" +
      folder / "program" + "'");
  CAPTURE(built.err);
  REQUIRE(built.exit_code == 0);
  const auto output_of = [&](const std::string& what) {
    const testing::Output output =
        testing::run("WHAT=" + what + " '" + folder / "program" + "' --limit 0.2");
    return std::to_string(output.exit_code) + " " + output.err;
  };
  const std::string begin = "1 static initializers, which run before all else, ";
  CHECK(
      output_of("loop") ==
      begin + "are still running at the time limit, perhaps in an endless loop\n");
  CHECK(output_of("crash") == begin + "crash, or throw an exception\n");
  CHECK(output_of("throw").ends_with(begin.substr(2) + "crash, or throw an exception\n"));
  CHECK(output_of("exit") == begin + "end the program by exit()\n");
  CHECK(output_of("nothing") == "7 ");
}

namespace {

// How a parent handles a child that was taken over and sends arbitrary messages.

struct Hostile {
  const char* name;
  void (*code)();
  Ended::How how;
  const char* words;  // part of the sentence
  double waiting_limit_s = 0.2;
};

Guard short_guard(double waiting_limit_s = 0.2) {
  Guard guard{0.1, "test", {.name = "the kernel"}};
  guard.whole_limit_s = 20;
  guard.waiting_limit_s = waiting_limit_s;
  guard.watched.answer = [](const std::string& question) { return question; };
  guard.watched.line_of = [](const std::vector<const void*>& frames) {
    return std::to_string(frames.size());
  };
  return guard;
}

Ended ended_by(void (*code)(), const Guard& guard = short_guard()) {
  return run_in_child(guard, [=](std::FILE*) {
    code();
    return Outcome{0, ""};
  });
}

double used_s() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}
void compute_until(double end_s) {
  while (used_s() < end_s) {
  }
}

// Sends raw bytes, bypassing the message code.
void send_raw(const void* data, std::size_t bytes) {
  if (::send(this_child.to_parent, data, bytes, MSG_NOSIGNAL) < 0) _exit(1);
}
// A message's header, repeated here because message.cpp keeps it private.
void send_header(int kind, int exit_code, std::size_t bytes) {
  struct {
    char kind;
    int exit_code;
    std::size_t bytes;
  } header{static_cast<char>(kind), exit_code, bytes};
  send_raw(&header, sizeof header);
}
void send_text(Message kind, int exit_code, const std::string& text) {
  send_header(static_cast<int>(kind), exit_code, text.size());
  send_raw(text.data(), text.size());
}
[[noreturn]] void forever(void (*act)()) {
  while (true) act();
}
[[noreturn]] void stay() {
  forever([] { pause(); });
}
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
}
void send_failure(const Failure& failure) {
  tell(Message::kFailure, 1, &failure, sizeof failure);
  stay();
}

constexpr const char* kNonsense = "its messages make no sense";
constexpr const char* kLate = "did not stop and was ended";
constexpr const char* kGone = "ends the program before it is done";

}  // namespace

TEST_CASE("the limit counts the processor time of all threads, and no time in which they wait") {
  const auto sleeper = [] {
    watched([] { usleep(500'000); });
    watched([] { compute_until(used_s() + 0.05); });
  };
  Guard patient = short_guard(30);
  CHECK(ended_by(sleeper, patient).how == Ended::done);
  const Ended endless = ended_by([] { watched([] { compute_until(60); }); }, patient);
  CHECK(endless.how == Ended::timed_out);
  CHECK(
      endless.sentence ==
      "the kernel is still running after 0.1 s of processor time, perhaps in an endless loop");
  // No thread of the two uses up the limit alone.
  patient.limit_s = 0.5;
  static double seconds;
  const auto together = [] {
    watched([] {
      std::thread other([] { compute_until(seconds); });
      compute_until(seconds);
      other.join();
    });
  };
  seconds = 20;
  CHECK(ended_by(together, patient).how == Ended::timed_out);
  seconds = 0.5;
  patient.limit_s = 5;
  CHECK(ended_by(together, patient).how == Ended::done);
}

TEST_CASE("an alarm that reaches an idle thread is passed on to the watched one") {
  const auto asked = [] {
    std::thread([] { stay(); }).detach();
    watched([] {
      block_signals();
      const std::string pending_for_it = "SigPnd:\t0000000000002000";  // SIGALRM's bit
      while (!testing::contains(testing::contents("/proc/thread-self/status"), pending_for_it)) {
      }
    });
  };
  CHECK(ended_by(asked, short_guard(30)).how == Ended::done);
}

TEST_CASE("watched code that only waits is ended, too, and told from code that computes") {
  const Ended ended = ended_by([] { watched([] { stay(); }); });
  CHECK(ended.how == Ended::timed_out);
  CHECK(
      ended.sentence ==
      "the kernel has only waited for 0.2 s: it sleeps, or waits for what does not come");
  CHECK(most_waiting_s({.limit_s = 1, .said_by = ""}) == 10);
  CHECK(most_waiting_s({.limit_s = 60, .said_by = ""}) == 180);
}

TEST_CASE("a parent withstands every message of a hostile child, and does not wait forever") {
  const Hostile children[] = {
      {"announces 2^63 bytes", [] { send_header(2, 0, std::size_t{1} << 63), stay(); }, Ended::died,
       kNonsense},
      {"announces a report of 1 GiB", [] { send_header(2, 0, std::size_t{1} << 30), stay(); },
       Ended::died, kNonsense},
      {"announces 60 MB and sends none", [] { send_header(2, 0, 60'000'000), stay(); },
       Ended::timed_out, kLate},
      {"sends half a header", [] { send_raw("half", 4), stay(); }, Ended::timed_out, kLate},
      {"sends half a header and ends", [] { send_raw("half", 4), _exit(0); }, Ended::died, kGone},
      {"sends half a message and ends", [] { send_header(2, 0, 100), _exit(0); }, Ended::died,
       kGone},
      {"sends an unknown kind", [] { send_header(99, 0, 0), stay(); }, Ended::died, kNonsense},
      {"sends a negative kind", [] { send_header(-1, 0, 0), stay(); }, Ended::died, kNonsense},
      {"sends an answer", [] { send_text(Message::kAnswer, 0, "x"), stay(); }, Ended::died,
       kNonsense},
      {"begins with contents", [] { send_text(Message::kBegin, 0, "x"), stay(); }, Ended::died,
       kNonsense},
      {"ends a part that did not begin", [] { tell(Message::kEnd), stay(); }, Ended::died,
       kNonsense},
      {"says nothing", [] { stay(); }, Ended::timed_out, kLate},
      {"works forever after its watched part", [] { watched([] {}), stay(); }, Ended::timed_out,
       kLate},
      {"begins again and again", [] { forever([] { usleep(10'000), tell(Message::kBegin); }); },
       Ended::timed_out, kLate},
      {"floods with empty parts",
       [] { forever([] { tell(Message::kBegin), tell(Message::kEnd); }); }, Ended::died, kNonsense,
       30},
      {"asks endlessly", [] { forever([] { ask("?"); }); }, Ended::died, kNonsense, 30},
      {"asks and does not read the answers",
       [] {
         const std::string question(1 << 20, '?');
         while (true) tell(Message::kQuestion, 0, question.data(), question.size());
       },
       Ended::timed_out, kLate},
      {"asks a question that is too long",
       [] { send_text(Message::kQuestion, 0, std::string((1 << 20) + 1, '?')), stay(); },
       Ended::died, kNonsense},
      {"closes its end and lives on", [] { close(this_child.to_parent), stay(); }, Ended::died,
       kGone},
      {"ends and leaves its end to another process",
       [] {
         if (fork() == 0) sleep(20);
         _exit(0);
       },
       Ended::died, kGone},
      {"blocks every signal", [] { block_signals(), stay(); }, Ended::timed_out, kLate},
      {"kills itself", [] { kill(getpid(), SIGKILL); }, Ended::died,
       "ends the program before it is done (Killed)"},
      {"reports a failure of too few bytes",
       [] { send_text(Message::kFailure, 1, "fail"), stay(); }, Ended::died, kNonsense},
      {"reports an unknown kind of failure", [] { send_failure({.kind = 77}); }, Ended::died,
       kNonsense},
      {"reports a signal that does not exist", [] { send_failure({.kind = 1, .signal = -5}); },
       Ended::died, "is stopped: Unknown signal"},
      {"reports a system call that does not exist", [] { send_failure({.kind = 3, .call = -5}); },
       Ended::died, "system call -5"},
  };
  for (const Hostile& child : children) {
    const std::string name = child.name;
    CAPTURE(name);
    const Ended ended = ended_by(child.code, short_guard(child.waiting_limit_s));
    CAPTURE(ended.sentence);
    CHECK(ended.how == child.how);
    CHECK(ended.exit_code == 1);
    CHECK(ended.sentence.find(child.words) != std::string::npos);
  }
}

TEST_CASE("a child that sends without end uses up neither the parent's memory nor its time") {
  const Ended ended = ended_by(
      [] {
        const std::string report(60 << 20, 'x');
        while (true) report_until_now(report);
      },
      short_guard(30));
  CHECK(ended.how == Ended::died);
  CHECK(ended.sentence.find(kNonsense) != std::string::npos);
  CHECK(ended.report.size() == 60 << 20);
}

TEST_CASE("the parent does not wait for what a child does after its last message") {
  const Ended ended = ended_by([] {
    const std::string contents = packed(Sentence{{}, ""});
    send_text(Message::kSentence, 0, contents);
    send_text(Message::kReport, 0, "more");
    stay();
  });
  CHECK(ended.how == Ended::done);
  CHECK(ended.report == "");
}

TEST_CASE("a child's sentences are shown without terminal control sequences") {
  const Ended ended = ended_by([] {
    const void* nowhere = reinterpret_cast<const void*>(~std::size_t{0});
    send_text(Message::kUnlocked, 0, "\x1b]0;taken over\a");
    send_text(
        Message::kSentence, -1,
        packed(Sentence{{nowhere}, "red \x1b[31m\r\nPASSED\x9b\x7f \xc3\xbc"}));
    stay();
  });
  CHECK(ended.how == Ended::complained);
  CHECK(ended.exit_code == 255);
  CHECK(ended.line == "1");  // number of frames; the address is for the caller to check
  CHECK(
      ended.sentence == R"(red \x1b[31m\r\nPASSED\x9b\x7f )"
                        "\xc3\xbc");
  CHECK(ended.unlocked == R"(\x1b]0;taken over\x07)");

  const Ended failed = ended_by([] {
    Failure failure{.kind = Failure::kExit, .inside = 1};
    std::memset(failure.words, '\x1b', sizeof failure.words);  // never ends
    send_failure(failure);
  });
  std::string escapes;
  for (int i = 0; i < 384; ++i) escapes += R"(\x1b)";
  CHECK(failed.sentence == escapes + ": it ends the program by exit()");
}

}  // namespace guard
