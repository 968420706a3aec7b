// Inline PTX as calls.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

// asm volatile("text" : "=r"(a) : "r"(b), [n] "n"(c) : "memory"); becomes
//
//   ::simt::ptx("text", {::simt::ptx_output("=r", (a)), ::simt::ptx_input("r", (b)),
//                        ::simt::ptx_input("[n]" "n", (c))});
//
// (cuda/ptx.h). What the text means is found out when a thread comes to it. The name of a variable
// or function in an asm label stays as it is, and so does all assembly in a system's header.
std::string inline_ptx(std::string_view source);

}  // namespace rewrite
