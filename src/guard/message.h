// What parent and child say to each other through their socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace guard {

// Each is followed by its contents. The parent says kAnswer alone.
enum class Message : char { kBegin, kEnd, kReport, kQuestion, kAnswer, kSentence, kFailure };

// Allocates nothing, for signal handlers. False where nobody listens any more.
bool send(
    int socket, Message message, int exit_code = 0, const void* data = nullptr,
    std::size_t bytes = 0);

struct Received {
  Message message;
  int exit_code;  // with kSentence and kFailure
  std::string contents;
};
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// Waits for the next message. None where there are no more, it makes no sense, or the deadline
// passes before.
std::optional<Received> receive(int socket, Deadline deadline = {});

// The contents of a kSentence.
struct Sentence {
  const void* place;  // the return address that it is about; null where that is not known
  std::string text;
};
std::string packed(const Sentence& sentence);
Sentence sentence_in(const std::string& contents);

}  // namespace guard
