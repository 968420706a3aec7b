// A place in the program's code, as a number that does not depend on the load address.
#pragma once

#include <cstdint>

extern "C" char __executable_start;  // from the linker

namespace machine {

using CodePlace = std::uint32_t;  // distance from __executable_start

inline CodePlace place_of_code(const void* address) {
  return static_cast<CodePlace>(static_cast<const char*>(address) - &__executable_start);
}

}  // namespace machine
