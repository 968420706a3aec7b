// g++ -fsanitize=thread announces every access by a call, with three exceptions: a class that is
// passed or returned by value, a const variable, and the load within the store of a bit-field.
// These accesses are visible in its assembly, and this pass announces them, too.
#pragma once

#include <string>
#include <string_view>

namespace announce {

// `assembly` of x86-64, made by g++ at -O0, with a call of simt_announce
// (trace/silent_accesses.cpp) added before each access that the compiler does not announce.
// Accesses to the stack (by %rsp or by a frame's %rbp) and to the program's static data are not
// announced.
std::string announced(std::string_view assembly);

// What simt_announce receives about an access besides its address, packed into one number.
struct Announcement {
  bool loads, stores;
  bool times_rcx;  // for a string instruction: the bytes of one of its %rcx rounds
  int widest;      // bytes of the widest access that can move the class: 4, 8 or 16
  int bytes;       // 0: the instruction is unknown, and so is the number of bytes

  constexpr int packed() const {
    return bytes << 8 | widest << 3 | times_rcx << 2 | stores << 1 | int{loads};
  }
  static constexpr Announcement unpacked(long number) {
    return {
        (number & 1) != 0, (number & 2) != 0, (number & 4) != 0, static_cast<int>(number >> 3 & 31),
        static_cast<int>(number >> 8)};
  }
};

}  // namespace announce
