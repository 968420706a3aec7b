#include "guard/failure.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace guard {
namespace {

std::string what_happened(const Failure& failure, double limit_s) {
  char text[96];
  switch (failure.kind) {
    case Failure::kTimeout:
      std::snprintf(
          text, sizeof text, "is still running after %g s, perhaps in an endless loop", limit_s);
      return text;
    case Failure::kExit:
      return "ends the program by exit()";
    case Failure::kSignal:
      break;
  }
  if (failure.misaligned) {
    return "crashes at a vector access that is not aligned: a float4 begins at a multiple of 16 "
           "bytes";
  }
  switch (failure.signal) {
    case SIGSEGV:
    case SIGBUS:
      std::snprintf(
          text, sizeof text, "crashes: it reaches for memory that is not there (%p)",
          failure.address);
      return text;
    case SIGFPE:
      return "crashes: it divides an integer by zero";
    case SIGABRT:
      return "gives up: it calls abort(), fails an assert, or throws an exception";
    default:
      return std::string("is stopped: ") + strsignal(failure.signal);
  }
}

}  // namespace

Failure failure_in(const std::string& contents) {
  Failure failure{};
  std::memcpy(&failure, contents.data(), std::min(sizeof failure, contents.size()));
  failure.frames = std::clamp<int>(failure.frames, 0, std::size(failure.frame));
  return failure;
}

std::string sentence_about(const Failure& failure, const Guard& guard) {
  const std::string what = what_happened(failure, guard.limit_s);
  const std::string words(failure.words, strnlen(failure.words, sizeof failure.words));
  if (failure.inside) return words + ": it " + what;
  return (words.empty() ? guard.watched.name : words) + " " + what;
}

}  // namespace guard
