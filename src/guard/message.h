// The messages between parent and child through their socket. The code that the child runs may have
// taken it over, so the parent checks every message.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace guard {

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

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Does not allocate, so signal handlers may use it. Returns false if nobody listens any more, or
// not in time.
bool send(
    int socket, Message message, int exit_code = 0, const void* data = nullptr,
    std::size_t bytes = 0, Deadline deadline = {});

struct Received {
  enum What {
    message,
    gone,     // no more messages can come
    late,     // no message before the deadline
    nonsense  // an unknown kind, or longer than its kind allows
  } what;
  Message kind{};
  int exit_code = 0;  // for kSentence and kFailure
  std::string contents = {};
};

// Waits for the next message. `is_over` is called from time to time. Once it returns true, only
// messages that have already arrived are received. (Another process may hold the sender's end of
// the socket.)
Received receive(
    int socket, Deadline deadline = {}, const std::function<bool()>& is_over = nullptr);

// The contents of a kSentence.
struct Sentence {
  const void* place;  // the return address of the place it describes; null if unknown
  std::string text;
};
std::string packed(const Sentence& sentence);
Sentence sentence_in(const std::string& contents);

}  // namespace guard
