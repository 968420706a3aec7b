// Text of somebody else's, for a terminal.
#pragma once

#include <string>

namespace guard {

// `text` with a question mark for each byte that a terminal might obey or cannot show: control
// characters (but for line breaks where `with_lines`), and what is not UTF-8.
std::string printable(const std::string& text, bool with_lines = false);

}  // namespace guard
