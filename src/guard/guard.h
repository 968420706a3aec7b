// Runs other people's code in a child process that can loop, crash, exit or eat memory. What that
// code is, and where in it something happens, only the caller knows, who hands it in as Watched.
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

// What an exception comes to: run_guarded's exit code, a sentence, and the return address of the
// call in the watched code that it is about; null where that is not known.
struct Thrown {
  int exit_code;
  std::string sentence;
  const void* place = nullptr;
};

// The code that is watched. All functions may be null.
struct Watched {
  std::string name = "the program";  // what sentences call it

  // These are called from signal handlers of the child, on any thread. They allocate nothing.
  //
  // Whether this thread is at a place that describe() can tell exactly.
  bool (*is_inside)() = nullptr;
  // Writes into `words` who it is that runs here: "tiled, block (0, 0, 0), thread (3, 0, 0)", or
  // where this is not inside a better name than the one above, if there is one.
  void (*describe)(char* words, std::size_t bytes) = nullptr;
  // The thread to ask for its place when the time is over.
  std::optional<pthread_t> (*thread_to_ask)() = nullptr;
  void (*before_failure)() = nullptr;

  // These are called in the child: before its work, and for what that throws. `watching`: watched
  // code threw it, and not what surrounds it.
  void (*begin)() = nullptr;
  std::optional<Thrown> (*explain)(const std::exception& thrown, bool watching) = nullptr;

  // These are called in the parent, which may start processes. From return addresses, innermost
  // first, to the line that the first of them in other people's code stands on: "my.cu:12", or
  // nothing.
  std::string (*line_of)(const std::vector<const void*>& frames) = nullptr;
  // What the child gets for ask(question).
  std::string (*answer)(const std::string& question) = nullptr;
};

struct Guard {
  double limit_s;       // of wall-clock time, for each watched() part
  std::string said_by;  // what sentences on stderr begin with
  Watched watched = {};
  // For the whole of a child that is not to be trusted, its own part of the work included; 0: only
  // watched() parts are limited. Of processor time it may have as much on each of its threads.
  double whole_limit_s = 0;
};

// What a run came to: the exit code, and a sentence for stderr where there is something to say.
struct Outcome {
  int exit_code;
  std::string complaint;
};
using Work = std::function<Outcome(std::FILE* report)>;

// The system gives no child.
struct NoChild : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs `work` in a child and returns the exit code: that of `work`, that of what it throws, or 1
// where the code it watches failed in any other way. `work` writes its report to the stream it is
// given; the report appears on stdout only if `work` came to its end. The child's own stdout is
// this process's stderr. Throws NoChild. The child may have been taken over by what it runs: its
// sentences are shown without control characters, and what makes no sense ends it.
int run_guarded(const Guard& guard, const Work& work);

// How a child ended.
struct Ended {
  enum How {
    done,
    complained,
    refused,
    timed_out,
    exhausted,  // it has used up its processor time
    died
  } how;
  int exit_code;              // as run_guarded returns it
  std::string report;         // where `work` did not come to its end: what it reported until then
  std::string line;           // "my.cu:12", where it is known
  std::string sentence;       // why it did not, or the complaint of `work`
  bool watched = false;       // that was while watched code ran, and not what surrounds it
  std::string unlocked = {};  // why the system granted no lock that was asked for
};

// "grade: this system grants no filter ..."; nothing where the lock held, or was not asked for.
std::string sentence_about_lock(const Guard& guard, const Ended& ended);

// The same for those who go on from there by themselves: prints nothing.
Ended run_in_child(const Guard& guard, const Work& work);

// Within `work`, in the child:

// Runs other people's code under the limits.
void watched(const std::function<void()>& code);

// This is the report if the watched code fails from here on.
void report_until_now(const std::string& report);

// What the parent's Watched::answer says to `question`.
std::string ask(const std::string& question);

// Locks this process: from here on it can compute, report, ask and end. What else it tries ends it,
// as a crash does (guard/lock.h). It can make no thread either, so `fresh_threads` for
// on_fresh_thread() are made before, each with its team of OpenMP's. Where the system grants no
// lock, Ended says so, and work goes on under limits alone.
void lock(std::size_t fresh_threads);

// Runs `code` on a thread that has run nothing before, whose thread-local memory therefore is as it
// was at the start. Throws what it throws; std::logic_error in a locked process where none is left.
void on_fresh_thread(const std::function<void()>& code);

}  // namespace guard
