#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "guard/child.h"
#include "guard/failure.h"
#include "guard/guard.h"
#include "guard/message.h"

namespace guard {
namespace {

std::string line_of(const Guard& guard, const std::vector<const void*>& frames) {
  const auto known = guard.watched.line_of;
  return known != nullptr && !frames.empty() ? known(frames) : "";
}

// The end that the child tells by a kSentence.
Ended told_end(const Guard& guard, const Received& last) {
  const auto [place, text] = sentence_in(last.contents);
  const auto how = last.exit_code == 2 ? Ended::refused
                   : text.empty()      ? Ended::done
                                       : Ended::complained;
  std::vector<const void*> frames;
  if (place != nullptr) frames = {place};
  return {how, last.exit_code, "", line_of(guard, frames), text};
}

// And by a kFailure.
Ended failed_end(const Guard& guard, const Received& last) {
  const Failure failure = failure_in(last.contents);
  const std::vector<const void*> frames(failure.frame, failure.frame + failure.frames);
  return {
      failure.kind == Failure::kTimeout ? Ended::timed_out : Ended::died, last.exit_code, "",
      line_of(guard, frames), sentence_about(failure, guard)};
}

void answer(const Guard& guard, int to_child, const std::string& question) {
  const auto asked = guard.watched.answer;
  const std::string text = asked != nullptr ? asked(question) : "";
  // A child that has gone is noticed by the next reading.
  send(to_child, Message::kAnswer, 0, text.data(), text.size());
}

}  // namespace

Ended run_in_child(const Guard& guard, const Work& work) {
  int ends[2];
  std::fflush(nullptr);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw NoChild("there is no pipe to be had from the system");
  const pid_t child = fork();
  if (child < 0) throw NoChild("the system starts no further process");
  if (child == 0) {
    close(ends[0]);
    be_the_child(guard, ends[1], work);
  }
  close(ends[1]);

  Deadline deadline;
  std::optional<Ended> ended;
  std::string report;
  while (!ended) {
    std::optional<Received> received = receive(ends[0], deadline);
    if (!received) break;
    switch (received->message) {
      case Message::kBegin:
        // Later than the child's own alarm: for code that holds that off.
        deadline = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<long>(1000 * guard.limit_s) + 3000);
        break;
      case Message::kEnd:
        deadline.reset();
        break;
      case Message::kReport:
        report = std::move(received->contents);
        break;
      case Message::kQuestion:
        answer(guard, ends[0], received->contents);
        break;
      case Message::kSentence:
        ended = told_end(guard, *received);
        break;
      default:
        ended = failed_end(guard, *received);
    }
  }
  const bool late = deadline && std::chrono::steady_clock::now() >= *deadline;
  if (!ended) kill(child, SIGKILL);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) {
    const std::string& name = guard.watched.name;
    ended = late ? Ended{Ended::timed_out, 1, "", "", name + " does not stop, and was ended"}
                 : Ended{Ended::died, 1, "", "", name + " ends the program before it is done"};
  }
  ended->report = std::move(report);
  ended->watched = deadline.has_value();
  return *ended;
}

int run_guarded(const Guard& guard, const Work& work) {
  const Ended ended = run_in_child(guard, work);
  std::fwrite(ended.report.data(), 1, ended.report.size(), stdout);
  std::fflush(stdout);
  if (!ended.sentence.empty()) {
    std::fprintf(
        stderr, "%s: %s%s\n", guard.said_by.c_str(),
        ended.line.empty() ? "" : (ended.line + ": ").c_str(), ended.sentence.c_str());
  }
  return ended.exit_code;
}

}  // namespace guard
