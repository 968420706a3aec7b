// Runs other people's code in a child process, because that code may loop, crash, exit or use up
// memory. Only the caller knows what the code is and where in it something happens. It passes this
// knowledge in as Watched.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace guard {

// The translation of an exception: run_guarded's exit code, a sentence, and the return address of
// the call in the watched code that caused it; null if that is unknown.
struct Thrown {
  int exit_code;
  std::string sentence;
  const void* place = nullptr;
};

// The code that is watched. All functions may be null.
struct Watched {
  std::string name = "the program";  // its name in messages

  // These are called from signal handlers of the child, on any thread. They must not allocate.
  //
  // Whether this thread is at a place that describe() can name exactly.
  bool (*is_inside)() = nullptr;
  // Writes into `words` what runs on this thread: "tiled, block (0, 0, 0), thread (3, 0, 0)". If
  // the thread is not inside the watched code, writes a better name than `name` if there is one.
  void (*describe)(char* words, std::size_t bytes) = nullptr;
  // Writes what is at an address at which the code crashed, if that is known: "d_A, which was
  // freed".
  void (*describe_address)(const void* address, char* words, std::size_t bytes) = nullptr;
  // The thread to ask for its place when the time limit is reached.
  std::optional<pthread_t> (*thread_to_ask)() = nullptr;
  // Has `what` called by the watched code itself, soon, if that is possible.
  void (*call_inside)(void (*what)()) = nullptr;

  // These are called in the child: `begin` before its work, `explain` for an exception. `watching`
  // says whether watched code threw it or the code around it.
  void (*begin)() = nullptr;
  std::optional<Thrown> (*explain)(const std::exception& thrown, bool watching) = nullptr;

  // These are called in the parent, which may start processes.
  // `line_of` receives return addresses, innermost first. It returns the source line of the first
  // one in other people's code, "my.cu:12", or nothing.
  std::string (*line_of)(const std::vector<const void*>& frames) = nullptr;
  // The child receives this result from ask(question).
  std::string (*answer)(const std::string& question) = nullptr;
};

struct Ended;

struct Guard {
  double limit_s;       // processor time of all threads together, for each watched() part
  std::string said_by;  // the beginning of messages on stderr
  Watched watched = {};
  // For an untrusted child: the limit for its whole run, including its own work; 0 limits only the
  // watched() parts.
  double whole_limit_s = 0;
  // How long it may only wait: time in which none of its threads runs or wants to. On a busy
  // machine a child that computes does not come near it. 0: three times limit_s, and at least 10 s.
  double waiting_limit_s = 0;
  // Called by run_guarded in the parent if `work` was stopped or died.
  std::function<void(const Ended&)> if_stopped = nullptr;
};

double most_waiting_s(const Guard& guard);

// The result of a run: the exit code, and a sentence for stderr if there is something to report.
struct Outcome {
  int exit_code;
  std::string complaint;
};
using Work = std::function<Outcome(std::FILE* report)>;

// The system cannot create a child process.
struct NoChild : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs `work` in a child and returns the exit code: that of `work`, that of an exception, or 1 if
// the watched code failed in any other way. `work` writes its report to the stream that it
// receives. The report appears on stdout only if `work` finishes. The child's own stdout is this
// process's stderr. Throws NoChild. The code may have taken over the child, so the child's
// sentences are shown without control characters, and a message that makes no sense ends the child.
int run_guarded(const Guard& guard, const Work& work);

// How a child ended.
struct Ended {
  enum How {
    done,
    complained,
    refused,
    timed_out,
    exhausted,  // it used up its processor time
    died
  } how;
  int exit_code;              // the result of run_guarded
  std::string report;         // if `work` did not finish: its report up to then
  std::string line;           // "my.cu:12", if known
  std::string sentence;       // why it did not finish, or the complaint of `work`
  bool watched = false;       // the run ended in watched code, not in the code around it
  std::string unlocked = {};  // why the system did not apply a requested lock
};

// "grade: this system grants no filter ..."; empty if the lock works or was not requested.
std::string sentence_about_lock(const Guard& guard, const Ended& ended);

// The same for callers that handle the result themselves: prints nothing.
Ended run_in_child(const Guard& guard, const Work& work);

// Within `work`, in the child:

// Runs other people's code under the limits.
void watched(const std::function<void()>& code);

// Sets the report to use if the watched code fails from here on.
void report_until_now(const std::string& report);

// The reply of the parent's Watched::answer to `question`.
std::string ask(const std::string& question);

// Locks this process. From here on it can only compute, report, ask and end. Anything else ends it
// like a crash (guard/child.h). Because a locked process cannot create threads, this function first
// creates `fresh_threads` threads for on_fresh_thread(), each with its OpenMP team. If the system
// does not support the lock, Ended says so, and the work continues under limits alone.
void lock(std::size_t fresh_threads);

// Runs `code` on a thread that has not run anything, so its thread-local memory is in its initial
// state. Rethrows what `code` throws. Throws std::logic_error if the process is locked and no fresh
// thread is left.
void on_fresh_thread(const std::function<void()>& code);

// The time before main(), in which static initializers run, including those of a user's file that
// is linked into this program. No guard exists yet.

// Call this at the start of main(). In a program with this call, static initializers that do not
// finish (within --limit S seconds of processor time, or 10), crash, or end the program are
// reported in one sentence, and the program exits with 1. This watch ends here: it does not apply
// to what runs afterwards.
void main_begins();

}  // namespace guard
