#include "model/formula.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <string>

#include "text/echoed.h"

namespace model {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Recursive descent, one function for each level of precedence:
//   sum     = product { (+|-) product }
//   product = factor { (*|/) factor }
//   factor  = { - } ( number | name | ceil ( sum ) | ( sum ) )
class Parser {
 public:
  Parser(std::string_view formula, std::span<const Named> names)
      : formula_(formula), names_(names) {}

  double whole() {
    const double value = sum();
    if (next() != kEnd) fail("expected an operator or the end", at_);
    return value;
  }

 private:
  static constexpr char kEnd = '\0';
  static constexpr int kMaxDepth = 100;

  double sum() {
    double value = product();
    for (;;) {
      if (take('+')) {
        value += product();
      } else if (take('-')) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    for (;;) {
      if (take('*')) {
        value *= factor();
      } else if (take('/')) {
        const std::size_t slash = at_ - 1;
        const double divisor = factor();
        if (divisor == 0) fail("division by zero", slash);
        value /= divisor;
      } else {
        return value;
      }
    }
  }

  double factor() {
    double sign = 1;
    while (take('-')) sign = -sign;
    const char c = next();
    if (is_digit(c) || c == '.') return sign * number();
    if (begins_name(c)) return sign * name_or_function();
    if (take('(')) return sign * rest_of_brackets();
    fail("expected a number, a name or (", at_);
  }

  double number() {
    double value = 0;
    const char* first = formula_.data() + at_;
    const auto [end, error] = std::from_chars(first, formula_.data() + formula_.size(), value);
    if (error != std::errc{}) fail("not a number that fits", at_);
    at_ += end - first;
    return value;
  }

  double name_or_function() {
    const std::size_t begin = at_;
    while (at_ < formula_.size() && (begins_name(formula_[at_]) || is_digit(formula_[at_]))) ++at_;
    const std::string_view name = formula_.substr(begin, at_ - begin);
    if (name == "ceil") {
      if (!take('(')) fail("expected ( after ceil", at_);
      return std::ceil(rest_of_brackets());
    }
    if (name == "max") {
      if (!take('(')) fail("expected ( after max", at_);
      const double first = sum();
      if (!take(',')) fail("expected ,", at_);
      return std::max(first, rest_of_brackets());
    }
    for (const Named& known : names_) {
      if (known.name == name) return known.value;
    }
    fail("unknown name " + text::echoed(name), begin);
  }

  double rest_of_brackets() {
    if (++depth_ > kMaxDepth) fail("too many brackets inside one another", at_ - 1);
    const double value = sum();
    if (!take(')')) fail("expected )", at_);
    --depth_;
    return value;
  }

  // The next non-blank character; kEnd after the last. A NUL in the formula is passed on as an
  // unprintable character, so that it does not look like the end.
  char next() {
    while (at_ < formula_.size() && formula_[at_] == ' ') ++at_;
    if (at_ == formula_.size()) return kEnd;
    return formula_[at_] == kEnd ? '\1' : formula_[at_];
  }

  bool take(char wanted) {
    if (next() != wanted) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail(const std::string& what, std::size_t position) const {
    throw std::invalid_argument(
        "formula \"" + text::echoed(formula_) + "\": " + what + " at character " +
        std::to_string(position + 1));
  }

  std::string_view formula_;
  std::span<const Named> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate(std::string_view formula, std::span<const Named> names) {
  return Parser(formula, names).whole();
}

}  // namespace model
