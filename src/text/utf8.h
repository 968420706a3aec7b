// UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <string_view>

namespace text {

// Length of the well-formed sequence that `text` starts with, 0 where it is none or there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace text
