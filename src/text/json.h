// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace text {

// With its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace text
