// JSON (RFC 8259), written and read.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace text {

// A text as a JSON string, with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

// Every value as it is written, by its path: {"a": [{"b": 1}]} has "1" at "a.0.b" and "[{"b": 1}]"
// at "a". The whole is at "". Throws std::invalid_argument, with a sentence's end, if it is not
// JSON, or if two values have the same path.
using JsonParts = std::map<std::string, std::string_view, std::less<>>;
JsonParts json_parts(std::string_view json);

// The text that a JSON string stands for. Another part is returned as it is.
std::string json_text(std::string_view part);

// Only the texts, numbers and truth values, by their paths. What is null has no entry.
using JsonValues = std::map<std::string, std::string, std::less<>>;
JsonValues json_values(std::string_view json);

}  // namespace text
