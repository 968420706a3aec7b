#include "grade/element.h"

#include <algorithm>

#include "grade/case.h"
#include "text/numbers.h"

namespace grade {

namespace {

// A matrix as it lies in memory: so many lines, each as a whole.
struct Lines {
  std::int64_t count, length;
  bool are_columns;
};

Lines lines_of(const Case& c, int matrix) {
  const Multiplication& product = exercise.product;
  const std::int64_t rows[] = {c.shape.M, c.shape.K, c.shape.M};
  const std::int64_t columns[] = {c.shape.K, c.shape.N, c.shape.N};
  const Order orders[] = {product.A, product.B, product.C};
  const bool as_rows = orders[matrix] == Order::rows;
  return {
      as_rows ? rows[matrix] : columns[matrix], as_rows ? columns[matrix] : rows[matrix],
      orders[matrix] == Order::columns};
}

// The line in which an element lies; before the matrix it is negative.
std::int64_t line_at(const Lines& lines, std::int64_t at) {
  const std::int64_t length = std::max<std::int64_t>(lines.length, 1);
  return (at >= 0 ? at : at - length + 1) / length;
}

}  // namespace

std::string element_text(const Case& c, int matrix, std::int64_t at) {
  const char* name = array_names(exercise.product)[matrix];
  const auto number = static_cast<long long>(at);
  if (exercise.product.sum_of_vectors) return text::printed("%s[%lld]", name, number);
  const Lines lines = lines_of(c, matrix);
  const long long line = line_at(lines, at), place = at - line * lines.length;
  return lines.are_columns ? text::printed("%s(%lld, %lld)", name, place, line)
                           : text::printed("%s(%lld, %lld)", name, line, place);
}

std::string bounds_text(const Case& c, int matrix, std::int64_t at) {
  const char* name = array_names(exercise.product)[matrix];
  if (exercise.product.sum_of_vectors) {
    return text::printed("; %s has elements 0 to %d", name, c.shape.N - 1);
  }
  const Lines lines = lines_of(c, matrix);
  const char* line = lines.are_columns ? "column" : "row";
  return text::printed(
      ", %s %lld; %s has %ss 0 to %lld", line, static_cast<long long>(line_at(lines, at)), name,
      line, static_cast<long long>(lines.count - 1));
}

}  // namespace grade
