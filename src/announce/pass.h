// g++ -fsanitize=thread announces every access by a call, but for a class that is passed or
// returned by value, a const variable, and the load within the store of a bit-field. In its
// assembly these stand plainly: this pass announces them, too.
#pragma once

#include <string>
#include <string_view>

namespace announce {

// `assembly` of x86-64, made by g++ at -O0, with a call of simt_announce (trace/announced.cpp)
// before each access that the compiler is silent about. The stack, by %rsp or by a frame's %rbp,
// and the program's static data are left out.
std::string announced(std::string_view assembly);

// What simt_announce is told of an access, beside its address, in one number.
struct Announcement {
  bool loads, stores;
  bool times_rcx;  // of a string instruction: the bytes of one round, of which there are %rcx
  int widest;      // bytes of the widest access that the class can be moved by: 4, 8 or 16
  int bytes;       // 0: the instruction is not known, so what it touches is not either

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
