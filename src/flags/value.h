// The value of a flag on the command line, and how it is read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace flags {

// A flag's value as typed, with what a refusal must mention.
struct Value {
  std::string flag;  // "--size"
  std::string text;  // "1024"
  std::string hint;  // "give rows as a whole number, for example --size 1024"
};

// Throws a Refusal: flag, value, why it is not accepted, and the hint.
[[noreturn]] void refuse(const Value& value, const std::string& why);

bool all_digits(std::string_view text);  // at least one

// Each of these throws a Refusal for text that it cannot read.
std::uint64_t whole_number(const Value& value, std::uint64_t most);  // "1024" or "1e9"
int whole_int(const Value& value);
float real_number(const Value& value);  // finite, and one that fp32 can hold
const std::string& file_name(const Value& value);

}  // namespace flags
