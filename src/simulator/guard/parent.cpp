#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "simulator/guard/child.h"
#include "simulator/guard/guard.h"
#include "text/echoed.h"

namespace guard {
namespace {

struct Header {
  Message message;
  int exit_code;
  std::size_t bytes;
};

constexpr double kLook_s = 0.1;

// Waits until `socket` is ready for `event`. Without a watch it does not wait here; the read or
// write waits instead, because a locked child has no poll().
Received::What wait_for(int socket, short event, const Watch& watch) {
  while (watch) {
    // Asked first: an event that is always ready must not delay the end.
    const Received::What watched = watch();
    if (watched == Received::late) return watched;
    pollfd ready{socket, event, 0};
    const bool over = watched == Received::gone;
    const int events = poll(&ready, 1, over ? 0 : static_cast<int>(1000 * kLook_s));
    if (events > 0) break;
    if (over || (events < 0 && errno != EINTR)) return Received::gone;
  }
  return Received::message;
}

bool write_all(int socket, const void* data, std::size_t bytes, const Watch& watch) {
  const int flags = MSG_NOSIGNAL | (watch ? MSG_DONTWAIT : 0);
  for (auto* from = static_cast<const char*>(data); bytes > 0;) {
    if (wait_for(socket, POLLOUT, watch) != Received::message) return false;
    const ssize_t written = ::send(socket, from, bytes, flags);
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) from += written, bytes -= written;
  }
  return true;
}

// Reads exactly `bytes`.
Received::What read_all(int socket, void* to, std::size_t bytes, const Watch& watch) {
  for (auto* into = static_cast<char*>(to); bytes > 0;) {
    const Received::What waited = wait_for(socket, POLLIN, watch);
    if (waited != Received::message) return waited;
    const ssize_t got = read(socket, into, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::gone;
    into += got;
    bytes -= got;
  }
  return Received::message;
}

}  // namespace

std::size_t most_bytes(Message message) {
  constexpr std::size_t kKB = 1024, kMB = 1024 * kKB;
  using enum Message;
  return message == kBegin || message == kEnd       ? 0
         : message == kReport || message == kAnswer ? 64 * kMB
         : message == kQuestion                     ? kMB
                                                    : 16 * kKB;
}

bool send(
    int socket, Message message, int exit_code, const void* data, std::size_t bytes,
    const Watch& watch) {
  const Header header{message, exit_code, bytes};
  return write_all(socket, &header, sizeof header, watch) && write_all(socket, data, bytes, watch);
}

Received receive(int socket, const Watch& watch) {
  Header header{};
  Received received{read_all(socket, &header, sizeof header, watch)};
  if (received.what != Received::message) return received;
  if (header.message < Message::kBegin || header.message > Message::kFailure ||
      header.bytes > most_bytes(header.message)) {
    return {Received::nonsense};
  }
  received.kind = header.message;
  received.exit_code = header.exit_code;
  // Part by part, so that only bytes that arrive take memory, not bytes that are announced.
  while (received.contents.size() < header.bytes) {
    const std::size_t before = received.contents.size();
    const std::size_t bytes = std::min(header.bytes - before, std::size_t{1} << 20);
    received.contents.resize(before + bytes);
    const Received::What got = read_all(socket, received.contents.data() + before, bytes, watch);
    if (got != Received::message) return {got};
  }
  return received;
}

std::string packed(const Sentence& sentence) {
  const std::size_t most = most_bytes(Message::kSentence) - sizeof sentence.frames;
  return std::string(reinterpret_cast<const char*>(&sentence.frames), sizeof sentence.frames) +
         sentence.text.substr(0, most);
}

Sentence sentence_in(const std::string& contents) {
  Sentence sentence{};
  const std::size_t bytes = std::min(sizeof sentence.frames, contents.size());
  std::memcpy(&sentence.frames, contents.data(), bytes);
  sentence.text = contents.substr(bytes);
  return sentence;
}

namespace {

std::string what_a_call_does(const Failure& failure) {
  const bool writes = failure.call == SYS_write || failure.call == SYS_writev;
  const bool prints = failure.argument == STDOUT_FILENO || failure.argument == STDERR_FILENO;
  if (writes && prints && failure.foreign == 0) {
    return "prints, or the C library aborts with a message: a kernel must not print here";
  }
  return "tries to reach the system (" + name_of({failure.call, failure.foreign != 0}) +
         "), which no kernel does";
}

std::string what_a_signal_says(const Failure& failure) {
  if (failure.misaligned != 0) {
    return "crashes at a misaligned vector access: the address of a float4 must be a multiple of "
           "16 "
           "bytes";
  }
  char text[96];
  switch (failure.signal) {
    case SIGSEGV:
    case SIGBUS:
      if (failure.called_from != nullptr) {
        return "crashes: it calls a function pointer that is null, or points to no code";
      }
      if (failure.at[0] != '\0') {
        return "crashes: it accesses " +
               std::string(failure.at, strnlen(failure.at, sizeof failure.at));
      }
      std::snprintf(
          text, sizeof text, "crashes: it accesses memory that is not there (%p)", failure.address);
      return text;
    case SIGFPE:
      return "crashes: it divides an integer by zero";
    case SIGABRT:
      return "aborts: it calls abort(), fails an assert, or throws an exception";
    case SIGXCPU:
      return "has used up its processor time, perhaps in an endless loop";
    default:
      return std::string("is stopped: ") + strsignal(failure.signal);
  }
}

std::string what_happened(const Failure& failure, const Guard& guard, bool waits) {
  switch (failure.kind) {
    case Failure::kTimeout: {
      char text[128];
      std::snprintf(
          text, sizeof text,
          waits ? "has only waited for %g s: it sleeps, or waits for what does not come"
                : "is still running after %g s of processor time, perhaps in an endless loop",
          waits ? most_waiting_s(guard) : guard.limit_s);
      return text;
    }
    case Failure::kExit:
      return "ends the program by exit()";
    case Failure::kSystemCall:
      return what_a_call_does(failure);
    default:
      return what_a_signal_says(failure);
  }
}

}  // namespace

std::optional<Failure> failure_in(const std::string& contents) {
  Failure failure{};
  if (contents.size() != sizeof failure) return std::nullopt;
  std::memcpy(&failure, contents.data(), sizeof failure);
  if (failure.kind < Failure::kTimeout || failure.kind > Failure::kSystemCall) return std::nullopt;
  return failure;
}

double most_waiting_s(const Guard& guard) {
  return guard.waiting_limit_s > 0 ? guard.waiting_limit_s : std::max(10.0, 3 * guard.limit_s);
}

std::string sentence_about(const Failure& failure, const Guard& guard, bool waits) {
  const std::string what = what_happened(failure, guard, waits);
  const std::string words(failure.words, strnlen(failure.words, sizeof failure.words));
  if (failure.inside != 0) return words + ": it " + what;
  return (words.empty() ? guard.watched.name : words) + " " + what;
}

namespace {

// The child's process. It is waited for once.
class Process {
 public:
  explicit Process(pid_t id) : id_(id) {}
  bool is_over() {
    if (!over_) over_ = waitpid(id_, &status_, WNOHANG) == id_;
    return over_;
  }
  void end() {
    if (is_over()) return;
    kill(id_, SIGKILL);
    while (waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
    }
    over_ = true;
  }
  // Its processor time, of all threads.
  double used_s() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(id_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }
  // Whether none of its threads runs, or would run if the machine were less busy.
  bool waits() const {
    std::error_code gone;
    std::filesystem::directory_iterator thread("/proc/" + std::to_string(id_) + "/task", gone), end;
    for (; !gone && thread != end; thread.increment(gone)) {
      std::string stat;
      std::getline(std::ifstream(thread->path() / "stat"), stat);
      if (stat.find(") R") != stat.npos || stat.find(") D") != stat.npos) return false;
    }
    return true;
  }
  // Lets its watched code say where it is, and end.
  void ask_for_its_place() const { kill(id_, SIGALRM); }
  // The signal that ended the process without our kill; waits a moment for it. 0 if there was none.
  int own_signal() {
    for (int i = 0; i < 100 && !is_over(); ++i) usleep(10'000);
    return over_ && WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
  }

 private:
  pid_t id_;
  bool over_ = false;
  int status_ = 0;
};

std::string line_of(const Guard& guard, const Frames& all) {
  const auto known = guard.watched.line_of;
  const std::vector<const void*> frames(all.begin(), std::find(all.begin(), all.end(), nullptr));
  return known != nullptr && !frames.empty() ? known(frames) : "";
}

// The end that the child reports by a kSentence.
Ended reported_end(const Guard& guard, const Received& last) {
  const auto [frames, text] = sentence_in(last.contents);
  const auto how = last.exit_code == 2 ? Ended::refused
                   : text.empty()      ? Ended::done
                                       : Ended::complained;
  return {how, last.exit_code & 0xff, "", line_of(guard, frames), text::printable(text)};
}

// The end that the child reports by a kFailure. Nothing if the message makes no sense.
std::optional<Ended> failed_end(const Guard& guard, const Received& last, bool waits) {
  const std::optional<Failure> failure = failure_in(last.contents);
  if (!failure) return std::nullopt;
  const auto how = failure->kind == Failure::kTimeout ? Ended::timed_out
                   : failure->kind == Failure::kSignal && failure->signal == SIGXCPU
                       ? Ended::exhausted
                       : Ended::died;
  return Ended{
      how, 1, "", line_of(guard, failure->frames),
      text::printable(sentence_about(*failure, guard, waits))};
}

// The end of a child that did not report it.
Ended silent_end(const Guard& guard, Received::What what, int signal) {
  const std::string& name = guard.watched.name;
  if (what == Received::late)
    return {Ended::timed_out, 1, "", "", name + " did not stop and was ended"};
  if (what == Received::nonsense) {
    return {
        Ended::died, 1, "", "",
        name + " has taken over the process that it runs in: its messages make no sense"};
  }
  // The code blocked signals: fork() does, and hostile code may.
  if (signal == SIGSYS)
    return {Ended::died, 1, "", "", name + " tries to reach the system, which no kernel does"};
  std::string sentence = name + " ends the program before it is done";
  if (signal != 0) sentence += std::string(" (") + strsignal(signal) + ")";
  return {Ended::died, 1, "", "", sentence};
}

// The most that one child may send in total. A normal child sends far less.
struct Allowance {
  int messages = 20'000;
  int questions = 5'000;  // each starts a process in the parent
  std::size_t bytes = std::size_t{1} << 28;

  bool covers(const Received& received) {
    if (--messages < 0 || received.contents.size() > bytes) return false;
    bytes -= received.contents.size();
    return received.kind != Message::kQuestion || --questions >= 0;
  }
};

// Listens to the child until its last message, or until none can come.
class Conversation {
 public:
  Conversation(const Guard& guard, int socket, Process& process)
      : guard_(guard), socket_(socket), process_(process) {}

  Ended run() {
    std::optional<Ended> ended;
    Received received{};
    while (!ended) {
      received = receive(socket_, [this] { return look(); });
      if (received.what != Received::message) break;
      if (!allowance_.covers(received)) {
        received.what = Received::nonsense;
        break;
      }
      if (!hear(received, ended)) {
        received.what = Received::nonsense;
        break;
      }
    }
    const bool gone = !ended && received.what == Received::gone;
    const int signal = gone ? process_.own_signal() : 0;
    process_.end();
    if (!ended) ended = silent_end(guard_, received.what, signal);
    ended->report = std::move(report_);
    ended->watched = begun_s_.has_value();
    ended->unlocked = text::printable(unlocked_);
    return *ended;
  }

 private:
  // Looks at the child every now and then. Above a limit the watched code is asked for its place,
  // and gets some more time to answer. (Code that blocks the signal does not answer.)
  Received::What look() {
    if (process_.is_over()) return Received::gone;
    const auto now = std::chrono::steady_clock::now();
    if (late_) return Received::late;
    const bool limited = begun_s_ || guard_.whole_limit_s > 0;
    if (!limited || now - looked_ < std::chrono::duration<double>(kLook_s))
      return Received::message;
    looked_ = now;
    if (process_.waits()) waited_s_ += kLook_s;
    const double waited_s = waited_s_ - most_waiting_s(guard_);
    const double computed_s = begun_s_ ? process_.used_s() - *begun_s_ - guard_.limit_s : 0;
    const double over_s = std::max(waited_s, computed_s);
    if (over_s <= 0) return Received::message;
    late_ = !begun_s_ || over_s > kAnswer_s;
    if (late_) return Received::late;
    if (!asked_) process_.ask_for_its_place();
    asked_ = true;
    return Received::message;
  }

  // Returns false if the message makes no sense.
  bool hear(Received& received, std::optional<Ended>& ended) {
    switch (received.kind) {
      case Message::kBegin:
        begun_s_ = process_.used_s();
        return true;
      case Message::kEnd:
        if (!begun_s_) return false;
        begun_s_.reset();
        asked_ = false;
        return true;
      case Message::kReport:
        report_ = std::move(received.contents);
        return true;
      case Message::kUnlocked:
        unlocked_ = std::move(received.contents);
        return true;
      case Message::kQuestion: {
        const auto answer = guard_.watched.answer;
        const std::string text = answer != nullptr ? answer(received.contents) : "";
        // The next read notices a child that has gone or does not listen.
        send(
            socket_, Message::kAnswer, 0, text.data(),
            std::min(text.size(), most_bytes(Message::kAnswer)), [this] { return look(); });
        return true;
      }
      case Message::kSentence:
        ended = reported_end(guard_, received);
        return true;
      case Message::kFailure:
        ended = failed_end(guard_, received, waited_s_ > most_waiting_s(guard_));
        return ended.has_value();
      case Message::kAnswer:
        return false;
    }
    return false;
  }

  static constexpr double kAnswer_s = 3;  // the time for watched code to say where it is
  const Guard& guard_;
  const int socket_;
  Process& process_;
  Allowance allowance_;
  // The child's processor time at the beginning of its watched code, while that runs, or the child
  // says so.
  std::optional<double> begun_s_;
  bool asked_ = false, late_ = false;
  double waited_s_ = 0;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::string report_, unlocked_;
};

Ended run_in_child_of_this_thread(const Guard& guard, const Work& work) {
  int ends[2];
  std::fflush(nullptr);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw NoChild("the system cannot create a pipe");
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    throw NoChild("the system cannot start another process");
  }
  if (child == 0) {
    close(ends[0]);
    be_the_child(guard, ends[1], work);
  }
  close(ends[1]);
  Process process(child);
  const Ended ended = Conversation(guard, ends[0], process).run();
  close(ends[0]);
  return ended;
}

}  // namespace

// A child has a copy of the one thread that forks. If that thread had used OpenMP before, the child
// would wait forever for the others of its team, so a new thread forks.
Ended run_in_child(const Guard& guard, const Work& work) try {
  const auto forked = [&, team = omp_get_max_threads()] {
    omp_set_num_threads(team);
    return run_in_child_of_this_thread(guard, work);
  };
  return std::async(std::launch::async, forked).get();
} catch (const std::system_error&) {
  throw NoChild("the system cannot start another thread");
}

std::string sentence_about_lock(const Guard& guard, const Ended& ended) {
  if (ended.unlocked.empty()) return "";
  return guard.said_by + ": this system grants no filter of system calls (" + ended.unlocked +
         "), so " + guard.watched.name + " runs under limits alone (src/simulator/README.md)";
}

int run_guarded(const Guard& guard, const Work& work) {
  const Ended ended = run_in_child(guard, work);
  std::fwrite(ended.report.data(), 1, ended.report.size(), stdout);
  std::fflush(stdout);
  const bool is_stopped =
      ended.how == Ended::timed_out || ended.how == Ended::exhausted || ended.how == Ended::died;
  if (is_stopped && guard.if_stopped) guard.if_stopped(ended);
  if (!ended.unlocked.empty())
    std::fprintf(stderr, "%s\n", sentence_about_lock(guard, ended).c_str());
  if (!ended.sentence.empty()) {
    std::fprintf(
        stderr, "%s: %s%s\n", guard.said_by.c_str(),
        ended.line.empty() ? "" : (ended.line + ": ").c_str(), ended.sentence.c_str());
  }
  return ended.exit_code;
}

}  // namespace guard
