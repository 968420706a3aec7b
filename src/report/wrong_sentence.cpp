#include "report/wrong_sentence.h"

#include <cfloat>
#include <cmath>

#include "text/numbers.h"

namespace report {

std::string wrong_sentence(const std::string& name, const model::Error& error) {
  const model::Mismatch& first = error.first.value();
  const bool beyond = std::isfinite(first.expected) && std::abs(first.expected) > FLT_MAX;
  return name +
         text::printed(
             " is wrong: row %lld, column %lld is %.9g, but should be ",
             static_cast<long long>(first.row), static_cast<long long>(first.column), first.value) +
         (beyond ? text::printed(
                       "%sinf, because %.9g is beyond the range of fp32",
                       first.expected < 0 ? "-" : "", first.expected)
                 : text::printed("%.9g", first.expected));
}

}  // namespace report
