// Evaluates the formulas of the stage table, so that the text a reader sees is what is computed.
#pragma once

#include <span>
#include <string_view>

namespace model {

struct Named {
  std::string_view name;
  double value;
};

// Value of `formula`: numbers, names, + - * / ( ) and ceil(x), with the usual precedence.
// Throws std::invalid_argument that quotes the formula and the place (the first character is 1), on
// anything else, on a division by zero and on more than 100 brackets inside one another.
double evaluate(std::string_view formula, std::span<const Named> names);

}  // namespace model
