// Where the watched code was when it failed, and the sentence about it.
#pragma once

#include <string>

#include "guard/guard.h"

namespace guard {

// Filled by a signal handler, so it holds no pointers into the heap. The contents of a kFailure.
struct Failure {
  enum Kind { kTimeout, kSignal, kExit } kind;
  int signal;
  void* address;  // that a SIGSEGV is about
  bool misaligned;
  bool inside;
  char words[384];
  int frames;
  void* frame[48];  // return addresses, innermost first
};

Failure failure_in(const std::string& contents);
std::string sentence_about(const Failure& failure, const Guard& guard);

}  // namespace guard
