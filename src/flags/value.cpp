#include "flags/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "model/refusal.h"
#include "text/echoed.h"

namespace flags {

void refuse(const Value& value, const std::string& why) {
  const std::string shown = value.text.empty() ? "\"\"" : text::echoed(value.text);
  throw model::Refusal(value.flag + " " + shown + ": " + why + "; " + value.hint);
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Digits, optionally with an exponent as in 1e9, up to `most`.
std::uint64_t whole_number(const Value& value, std::uint64_t most) {
  const std::string_view text = value.text;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const std::string_view exponent = e < text.size() ? text.substr(e + 1) : "0";
  if (!all_digits(digits) || !all_digits(exponent)) {
    double number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size()) {
      refuse(value, "not a number");
    }
    refuse(value, text[0] == '-' ? "negative" : "not a whole number");
  }
  const auto too_large = [&] { refuse(value, "more than " + std::to_string(most)); };
  std::uint64_t number = 0;
  for (const char digit : digits) {
    const unsigned units = digit - '0';
    if (number > (most - units) / 10) too_large();
    number = number * 10 + units;
  }
  unsigned zeros = 0;
  const auto parsed = std::from_chars(exponent.begin(), exponent.end(), zeros);
  if (number == 0) return 0;
  if (parsed.ec != std::errc()) too_large();
  for (; zeros > 0; --zeros) {
    if (number > most / 10) too_large();
    number *= 10;
  }
  return number;
}

int whole_int(const Value& value) {
  return static_cast<int>(whole_number(value, std::numeric_limits<int>::max()));
}

float real_number(const Value& value) {
  std::string_view text = value.text;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  double number;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    refuse(value, "not a number");
  }
  const float result = static_cast<float>(number);
  if (error != std::errc() || (std::isfinite(number) && std::isinf(result)) ||
      (number != 0 && result == 0)) {
    refuse(value, "outside the range of fp32");
  }
  if (!std::isfinite(number)) refuse(value, "not a finite number");
  return result;
}

const std::string& file_name(const Value& value) {
  if (value.text.empty()) refuse(value, "not a file name");
  return value.text;
}

}  // namespace flags
