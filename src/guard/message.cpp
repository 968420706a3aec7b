#include "guard/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace guard {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 28;  // of a message that makes sense

struct Header {
  Message message;
  int exit_code;
  std::size_t bytes;
};

bool write_all(int socket, const void* data, std::size_t bytes) {
  for (auto* from = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::send(socket, from, bytes, MSG_NOSIGNAL);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) from += written, bytes -= written;
  }
  return true;
}

// Reads exactly `bytes`; false where there are no more or the deadline passes before.
bool read_all(int socket, void* to, std::size_t bytes, Deadline deadline) {
  for (auto* into = static_cast<char*>(to); bytes > 0;) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = *deadline - std::chrono::steady_clock::now();
      wait_ms = std::max<int>(0, std::chrono::ceil<std::chrono::milliseconds>(left).count());
    }
    pollfd ready{socket, POLLIN, 0};
    const int events = poll(&ready, 1, wait_ms);
    if (events < 0 && errno == EINTR) continue;
    if (events <= 0) return false;
    const ssize_t got = read(socket, into, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    bytes -= got;
  }
  return true;
}

}  // namespace

bool send(int socket, Message message, int exit_code, const void* data, std::size_t bytes) {
  const Header header{message, exit_code, bytes};
  return write_all(socket, &header, sizeof header) && write_all(socket, data, bytes);
}

std::optional<Received> receive(int socket, Deadline deadline) {
  Header header{};
  if (!read_all(socket, &header, sizeof header, deadline)) return std::nullopt;
  if (header.bytes > kMostBytes) return std::nullopt;
  Received received{header.message, header.exit_code, std::string(header.bytes, '\0')};
  if (!read_all(socket, received.contents.data(), header.bytes, deadline)) return std::nullopt;
  return received;
}

std::string packed(const Sentence& sentence) {
  return std::string(reinterpret_cast<const char*>(&sentence.place), sizeof sentence.place) +
         sentence.text;
}

Sentence sentence_in(const std::string& contents) {
  Sentence sentence{};
  const std::size_t bytes = std::min(sizeof sentence.place, contents.size());
  std::memcpy(&sentence.place, contents.data(), bytes);
  sentence.text = contents.substr(bytes);
  return sentence;
}

}  // namespace guard
