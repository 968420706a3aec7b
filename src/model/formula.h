// Evaluates the formulas of the stage table, so that the formula that a reader sees is the one that
// is computed.
#pragma once

#include <span>
#include <string_view>

namespace model {

struct Named {
  std::string_view name;
  double value;
};

// The value of `formula`: numbers, names, + - * / ( ), ceil(x) and max(x, y), with the usual
// precedence.
// Throws std::invalid_argument with the formula and the place (the first character is 1) for
// anything else, for a division by zero, and for brackets that are nested more than 100 deep.
double evaluate(std::string_view formula, std::span<const Named> names);

}  // namespace model
