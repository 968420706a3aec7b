// Whether escape sequences may be written.
#pragma once

#include <cstdio>

namespace text {

// Whether `out` is a terminal that understands escape sequences: TERM in the environment says
// which one it is, and where it says nothing or "dumb", it is none that does.
bool is_terminal(std::FILE* out);

}  // namespace text
