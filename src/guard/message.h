// What parent and child say to each other through their socket. The child may have been taken over
// by the code that it runs, so nothing that it says is believed to make sense.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace guard {

// Each is followed by its contents. The parent says kAnswer alone.
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

// The most bytes that a message of this kind may have.
std::size_t most_bytes(Message message);

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Allocates nothing, for signal handlers. False where nobody listens any more, or not in time.
bool send(
    int socket, Message message, int exit_code = 0, const void* data = nullptr,
    std::size_t bytes = 0, Deadline deadline = {});

struct Received {
  enum What {
    message,
    gone,     // there are no more
    late,     // there was none before the deadline
    nonsense  // of no kind that there is, or longer than its kind may be
  } what;
  Message kind{};
  int exit_code = 0;  // with kSentence and kFailure
  std::string contents = {};
};

// Waits for the next message. `is_over` is asked now and then: once it says so, only what has come
// already is received. (Another process may have the sender's end of the socket.)
Received receive(
    int socket, Deadline deadline = {}, const std::function<bool()>& is_over = nullptr);

// The contents of a kSentence.
struct Sentence {
  const void* place;  // the return address that it is about; null where that is not known
  std::string text;
};
std::string packed(const Sentence& sentence);
Sentence sentence_in(const std::string& contents);

}  // namespace guard
