// g++ -fsanitize=thread announces every access by a call, with three exceptions: a class that is
// passed or returned by value, a const variable, and the load within the store of a bit-field.
// These accesses are visible in its assembly, and this pass announces them, too.
#pragma once

#include <string>
#include <string_view>

namespace announce {

// `assembly` of x86-64, made by g++ at -O0, with a call of simt_announce (trace/hooks.cpp) added
// before each access that the compiler does not announce. At -O0 such an access is a mov or a
// string instruction. Accesses to the stack (by %rsp or %rbp) and to the program's static data are
// not announced.
std::string announced(std::string_view assembly);

// What simt_announce receives about an access besides its address, packed into one number.
struct Announcement {
  bool stores, times_rcx;  // times_rcx: of a string instruction, which is repeated %rcx times
  int widest;              // bytes of the widest access that can move the class: 4, 8 or 16
  int bytes;

  constexpr int packed() const { return bytes << 7 | widest << 2 | times_rcx << 1 | int{stores}; }
  static constexpr Announcement unpacked(long number) {
    return {
        (number & 1) != 0, (number & 2) != 0, static_cast<int>(number >> 2 & 31),
        static_cast<int>(number >> 7)};
  }
};

}  // namespace announce
