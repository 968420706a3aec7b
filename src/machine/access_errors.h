// Accesses of a kernel that the operating system stops: SIGSEGV and SIGBUS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace machine {

// From the first call on, such an access ends the block that makes it (Worker::crash). Any other is
// the program's own failure, or that of host code, and goes to who was asked before.
void watch_for_access_errors();

// The stack of a fiber may be what is broken, so a handler has its own: one for each thread of the
// operating system that runs blocks.
class HandlerStack {
 public:
  HandlerStack() = default;
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;
  ~HandlerStack();
  // On the thread that is to have it, unless it has one.
  void provide();

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace machine
