#include "guard/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace guard {
namespace {

struct Header {
  Message message;
  int exit_code;
  std::size_t bytes;
};

// Waits until `socket` is ready for `event`. Without a deadline and without anything else to watch,
// it does not wait here; the read or write waits instead, because a locked child has no poll().
Received::What wait_for(
    int socket, short event, Deadline deadline, const std::function<bool()>& is_over) {
  if (!deadline && !is_over) return Received::message;
  while (true) {
    using namespace std::chrono;
    // Checked first: an event that is always ready must not delay the deadline.
    milliseconds wait = is_over ? 100ms : 1h;
    if (deadline) {
      wait = std::min(wait, ceil<milliseconds>(*deadline - steady_clock::now()));
      if (wait <= 0ms) return Received::late;
    }
    const bool over = is_over && is_over();
    pollfd ready{socket, event, 0};
    const int events = poll(&ready, 1, over ? 0 : static_cast<int>(wait.count()));
    if (events > 0) return Received::message;
    if (over || (events < 0 && errno != EINTR)) return Received::gone;
  }
}

bool write_all(int socket, const void* data, std::size_t bytes, Deadline deadline) {
  const int flags = MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0);
  for (auto* from = static_cast<const char*>(data); bytes > 0;) {
    if (wait_for(socket, POLLOUT, deadline, nullptr) != Received::message) return false;
    const ssize_t written = ::send(socket, from, bytes, flags);
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) from += written, bytes -= written;
  }
  return true;
}

// Reads exactly `bytes`.
Received::What read_all(
    int socket, void* to, std::size_t bytes, Deadline deadline,
    const std::function<bool()>& is_over) {
  for (auto* into = static_cast<char*>(to); bytes > 0;) {
    const Received::What waited = wait_for(socket, POLLIN, deadline, is_over);
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
  switch (message) {
    case Message::kBegin:
    case Message::kEnd:
      return 0;
    case Message::kReport:
    case Message::kAnswer:
      return std::size_t{1} << 26;
    case Message::kQuestion:
      return std::size_t{1} << 20;
    case Message::kUnlocked:
    case Message::kSentence:
    case Message::kFailure:
      return std::size_t{1} << 14;
  }
  return 0;
}

bool send(
    int socket, Message message, int exit_code, const void* data, std::size_t bytes,
    Deadline deadline) {
  const Header header{message, exit_code, bytes};
  return write_all(socket, &header, sizeof header, deadline) &&
         write_all(socket, data, bytes, deadline);
}

Received receive(int socket, Deadline deadline, const std::function<bool()>& is_over) {
  Header header{};
  Received received{read_all(socket, &header, sizeof header, deadline, is_over)};
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
    const Received::What got =
        read_all(socket, received.contents.data() + before, bytes, deadline, is_over);
    if (got != Received::message) return {got};
  }
  return received;
}

std::string packed(const Sentence& sentence) {
  const std::size_t most = most_bytes(Message::kSentence) - sizeof sentence.place;
  return std::string(reinterpret_cast<const char*>(&sentence.place), sizeof sentence.place) +
         sentence.text.substr(0, most);
}

Sentence sentence_in(const std::string& contents) {
  Sentence sentence{};
  const std::size_t bytes = std::min(sizeof sentence.place, contents.size());
  std::memcpy(&sentence.place, contents.data(), bytes);
  sentence.text = contents.substr(bytes);
  return sentence;
}

}  // namespace guard
