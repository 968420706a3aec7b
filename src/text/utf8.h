// UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace text {

// The length of the well-formed sequence at the start of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace text
