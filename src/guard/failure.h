// Where the watched code was when it failed, and the sentence about it.
#pragma once

#include <optional>
#include <string>

#include "guard/guard.h"

namespace guard {

// Filled by a signal handler, so it holds no pointers into the heap. The contents of a kFailure:
// numbers only, because any bytes may come from a child that was taken over.
struct Failure {
  enum Kind : int { kTimeout, kSignal, kExit, kSystemCall };
  int kind = kSignal;
  int signal = 0;
  void* address = nullptr;    // that a SIGSEGV is about
  int call = 0, foreign = 0;  // of a kSystemCall (guard/lock.h)
  long argument = 0;          // its first
  int misaligned = 0, inside = 0;
  char words[384] = {};
  int frames = 0;
  void* frame[48] = {};  // return addresses, innermost first
};

// None where these are not the contents of a kFailure.
std::optional<Failure> failure_in(const std::string& contents);
std::string sentence_about(const Failure& failure, const Guard& guard);

}  // namespace guard
