// kernel<<<grid, block, shared_bytes, stream>>>(arguments...) as C++.
#pragma once

#include <string>
#include <string_view>

namespace rewrite {

// A launch becomes
//
//   ::simt::launched([&](auto&... simt_arguments) { kernel(simt_arguments...); })
//       .configured(grid, block, shared_bytes, stream)(arguments...)
//
// where an argument that is only a name stands as ::simt::argument(name),
// so that the kernel is named in a call and means what it means in C++: deduced template arguments,
// overloads and default arguments work. What may be a variable that holds a kernel's address gets a
// second form of the call, for the copy of the kernel that is to run. (cuda/launched.h)
std::string launches(std::string_view source);

}  // namespace rewrite
