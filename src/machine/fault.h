// What ends a launch: a kernel that cannot go on.
#pragma once

#include <stdexcept>
#include <string>

namespace machine {

// What a kernel did wrong while it ran, in one sentence with the kernel, the block and the thread.
struct KernelFault : std::runtime_error {
  KernelFault(const std::string& sentence, const void* where)
      : std::runtime_error(sentence), place(where) {}
  const void* place;  // a return address in the kernel; null where it is not known
};

// Called on a kernel's thread: the launch is abandoned, and run() and trace() throw a KernelFault.
// `what` is a clause: "the kernel ...".
[[noreturn]] void fault(const std::string& what, const void* place);

}  // namespace machine
