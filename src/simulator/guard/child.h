// The child's side: it does the work and reports to its parent.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "simulator/guard/guard.h"

namespace guard {

// Where the watched code was when it failed, and the sentence that reports it.

// Return addresses, innermost first; null after the last one.
using Frames = std::array<const void*, 48>;

// The contents of a kFailure message. A signal handler fills it, so it holds no pointers into the
// heap. It holds only numbers, because a child that was taken over may send any bytes.
struct Failure {
  enum Kind : int { kTimeout, kSignal, kExit, kSystemCall };
  int kind = kSignal;
  int signal = 0;
  void* address = nullptr;      // the address of a SIGSEGV
  int call = 0, foreign = 0;    // the number of a refused call, for a kSystemCall (guard/child.h)
  long argument = 0;            // the call's first argument
  void* called_from = nullptr;  // if there is no code at `address`: the call's return address
  int misaligned = 0, inside = 0;
  char words[384] = {}, at[384] = {};
  Frames frames = {};
};

// Returns nothing if these bytes are not the contents of a kFailure.
std::optional<Failure> failure_in(const std::string& contents);
// For a kTimeout: `waits` if the code was not running any more.
std::string sentence_about(const Failure& failure, const Guard& guard, bool waits);

// The messages between parent and child through their socket. The code that the child runs may have
// taken it over, so the parent checks every message.

// Each kind is followed by its contents. The parent sends only kAnswer.
enum class Message : char {
  kBegin,
  kEnd,
  kReport,
  kQuestion,
  kAnswer,
  kUnlocked,
  kSentence,
  kFailure
};

// The maximum number of bytes in a message of this kind.
std::size_t most_bytes(Message message);

struct Received {
  enum What {
    message,
    gone,     // no more messages can come
    late,     // the sender's time is over
    nonsense  // an unknown kind, or longer than its kind allows
  } what;
  Message kind{};
  int exit_code = 0;  // for kSentence and kFailure
  std::string contents = {};
};

// Called from time to time while a message is waited for. `message`: go on. After `gone`, only
// messages that have already arrived are received. (Another process may hold the other end of the
// socket.)
using Watch = std::function<Received::What()>;

// Does not allocate, so signal handlers may use it. Returns false if nobody listens any more, or
// not in time.
bool send(
    int socket, Message message, int exit_code = 0, const void* data = nullptr,
    std::size_t bytes = 0, const Watch& watch = nullptr);

// Waits for the next message.
Received receive(int socket, const Watch& watch = nullptr);

// The contents of a kSentence.
struct Sentence {
  Frames frames;  // of the place it describes, if that is known
  std::string text;
};
std::string packed(const Sentence& sentence);
Sentence sentence_in(const std::string& contents);

// The lock of a child: a filter in the operating system's kernel that lets the child compute, talk
// to its parent and end, and nothing else.

// Locks this process with all its threads, permanently; `to_parent` stays usable. After this, no
// thread can be created, no file opened, and no page made executable. A refused call raises SIGSYS.
// Returns the reason if the system does not support the lock.
std::optional<std::string> lock_system_calls(int to_parent);

// A refused system call in words: "system call 41, socket".
struct SystemCall {
  int number;
  bool foreign;  // made through another architecture's interface, for example int 0x80
};
std::string name_of(const SystemCall& call);

// Whether `architecture`, as a filter sees it (AUDIT_ARCH_...), differs from this program's.
bool is_foreign(unsigned architecture);

// Threads made before a child is locked, for code that must find thread-local memory in its initial
// state.

// The number of OpenMP threads: as many as usual, up to a limit.
int team_size();

// Gives this thread its OpenMP team, with signal stacks. In a locked child no team may grow.
void make_team(int size);

// Each fresh thread waits, with a team, for on_fresh_thread() (guard/guard.h).
void make_fresh_threads(std::size_t count);

// What interrupts the child: crashes, time limits, and exit() called by watched code. Each ends the
// child, which first tells its parent where it was.

void install_handlers();

// A stack may be what is broken, so handlers have stacks of their own, on this thread and on the
// threads that OpenMP keeps for it.
void give_signal_stacks();

// The state of this process if it is a child. Signal handlers read it.
struct Child {
  int to_parent = -1;
  const Guard* guard = nullptr;
  std::atomic<bool> watching = false;          // watched code is running ...
  std::atomic<pthread_t> watched_thread = {};  // ... on this thread, and those that it has started
  std::atomic<bool> locked = false;            // or would be, if the system supported it
};
extern Child this_child;

[[noreturn]] void be_the_child(const Guard& guard, int to_parent, const Work& work);

// Ends the child if its parent is gone. May be called from a signal handler.
void tell(Message message, int exit_code = 0, const void* data = nullptr, std::size_t bytes = 0);

}  // namespace guard
