// Accesses of a kernel that the operating system stops with SIGSEGV or SIGBUS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace machine {

// From a call on, until another handler is set, such an access ends the block that makes it
// (Worker::crash). Any other fault is the program's own or that of host code, and goes to the
// previous handler.
void watch_for_access_errors();

// The fault may be a fiber's stack overflow, so the handler has its own stack: one for each thread
// of the operating system that runs blocks.
class HandlerStack {
 public:
  HandlerStack() = default;
  HandlerStack(const HandlerStack&) = delete;
  HandlerStack& operator=(const HandlerStack&) = delete;
  ~HandlerStack();
  // Gives the calling thread a stack, unless it has one.
  void provide();

 private:
  std::unique_ptr<char[]> memory_;
};

}  // namespace machine
