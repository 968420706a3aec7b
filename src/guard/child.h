// The child's side: it does the work and reports to its parent.
#pragma once

#include <atomic>
#include <cstddef>

#include "guard/guard.h"
#include "guard/message.h"

namespace guard {

// The state of this process if it is a child. Signal handlers read it.
struct Child {
  int to_parent = -1;
  const Guard* guard = nullptr;
  std::atomic<bool> watching = false;  // watched code is running
  std::atomic<bool> locked = false;    // or would be, if the system supported it
};
extern Child this_child;

[[noreturn]] void be_the_child(const Guard& guard, int to_parent, const Work& work);

// Ends the child if its parent is gone. May be called from a signal handler.
void tell(Message message, int exit_code = 0, const void* data = nullptr, std::size_t bytes = 0);

}  // namespace guard
