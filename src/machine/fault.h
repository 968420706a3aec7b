// A fault ends a launch: a kernel that cannot continue.
#pragma once

#include <stdexcept>
#include <string>

namespace machine {

// What a kernel did wrong, in one sentence with the kernel, the block and the thread.
struct KernelFault : std::runtime_error {
  KernelFault(const std::string& sentence, const void* where)
      : std::runtime_error(sentence), place(where) {}
  const void* place;  // a return address in the kernel; null if unknown
};

// Call this on a kernel's thread. It abandons the launch, and run() and trace() throw a
// KernelFault. `what` is a clause: "the kernel ...".
[[noreturn]] void fault(const std::string& what, const void* place);

}  // namespace machine
