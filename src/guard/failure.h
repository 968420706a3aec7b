// Where the watched code was when it failed, and the sentence that reports it.
#pragma once

#include <optional>
#include <string>

#include "guard/guard.h"

namespace guard {

// The contents of a kFailure message. A signal handler fills it, so it holds no pointers into the
// heap. It holds only numbers, because a child that was taken over may send any bytes.
struct Failure {
  enum Kind : int { kTimeout, kSignal, kExit, kSystemCall };
  int kind = kSignal;
  int signal = 0;
  void* address = nullptr;    // the address of a SIGSEGV
  int call = 0, foreign = 0;  // the number of a refused call, for a kSystemCall (guard/lock.h)
  long argument = 0;          // the call's first argument
  int misaligned = 0, inside = 0;
  char words[384] = {}, at[384] = {};
  int frames = 0;
  void* frame[48] = {};  // return addresses, innermost first
};

// Returns nothing if these bytes are not the contents of a kFailure.
std::optional<Failure> failure_in(const std::string& contents);
std::string sentence_about(const Failure& failure, const Guard& guard);

}  // namespace guard
