// A kernel's error, and its place: lanes of a warp, a place in the program's code.
#pragma once

#include <bit>
#include <cstdint>
#include <stdexcept>
#include <string>

extern "C" char __executable_start;  // from the linker

namespace machine {

template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// A place in the program's code, as its distance from __executable_start: it does not depend on the
// load address.
using CodePlace = std::uint32_t;

inline CodePlace place_of_code(const void* address) {
  return static_cast<CodePlace>(static_cast<const char*>(address) - &__executable_start);
}

// Ends a launch: a kernel that cannot continue. The message is one sentence with the kernel, the
// block and the thread.
struct KernelFault : std::runtime_error {
  KernelFault(const std::string& sentence, const void* where)
      : std::runtime_error(sentence), place(where) {}
  const void* place;  // a return address in the kernel; null if unknown
};

// Call this on a kernel's thread. It abandons the launch, and run() and trace() throw a
// KernelFault. `what` is a clause: "the kernel ...".
[[noreturn]] void fault(const std::string& what, const void* place);

}  // namespace machine
