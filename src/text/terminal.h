// Whether escape sequences may be written.
#pragma once

#include <cstdio>

namespace text {

// Whether `out` is a terminal that understands escape sequences. TERM in the environment names the
// terminal; if it is unset, empty or "dumb", the terminal understands none.
bool is_terminal(std::FILE* out);

}  // namespace text
