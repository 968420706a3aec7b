// __global__, __device__, __constant__, __managed__ and __shared__ as C++.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

// - A kernel says where it begins, so that a launch learns which kernel it calls, and the compiler
//   neither inlines nor merges it.
// - A device variable becomes inline: the linker then keeps one of it, for the traced and the plain
//   copy of the file. It is registered under its name. A namespace without a name would give each
//   copy its own, so it gets a name if it holds a device variable.
// - __shared__ becomes thread_local, for its block's thread of the operating system. An alignas
//   beside it comes first, as C++ demands.
std::string qualifiers(std::string_view source);

}  // namespace rewrite
