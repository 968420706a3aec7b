// Reads JSON.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace text {

// The texts, numbers and truth values by their paths: {"a": [{"b": 1}]} has "1" at "a.0.b". What is
// null has no entry. Throws std::invalid_argument, with a sentence's end, if it is not JSON.
using JsonValues = std::map<std::string, std::string, std::less<>>;
JsonValues json_values(std::string_view json);

}  // namespace text
