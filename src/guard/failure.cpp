#include "guard/failure.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "guard/lock.h"

namespace guard {
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

std::string what_happened(const Failure& failure, double limit_s) {
  switch (failure.kind) {
    case Failure::kTimeout: {
      char text[96];
      std::snprintf(
          text, sizeof text, "is still running after %g s, perhaps in an endless loop", limit_s);
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
  if (failure.frames < 0 || failure.frames > static_cast<int>(std::size(failure.frame)))
    return std::nullopt;
  return failure;
}

std::string sentence_about(const Failure& failure, const Guard& guard) {
  const std::string what = what_happened(failure, guard.limit_s);
  const std::string words(failure.words, strnlen(failure.words, sizeof failure.words));
  if (failure.inside != 0) return words + ": it " + what;
  return (words.empty() ? guard.watched.name : words) + " " + what;
}

}  // namespace guard
