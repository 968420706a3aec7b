#include "model/box_cost.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "testing/csv.h"

namespace model {

TEST_CASE("a box of aligned rows takes the ideal number of sectors") {
  const BoxCost cost = box_cost({1024, 64, 128, 16384});
  CHECK(cost.bytes == 64 * 128);
  CHECK(cost.sectors == 64 * 4);
  CHECK(cost.ideal_sectors == cost.sectors);
  CHECK(cost.lines == 64);
}

TEST_CASE("a box whose rows start within a sector takes one more for each row") {
  const BoxCost cost = box_cost({1024 + 16, 10, 128, 16384});
  CHECK(cost.sectors == 10 * 5);
  CHECK(cost.ideal_sectors == 10 * 4);
  CHECK(cost.lines == 10 * 2);
}

TEST_CASE("rows of a box that share a sector count it once") {
  const BoxCost cost = box_cost({0, 4, 16, 16});
  CHECK(cost.sectors == 2);
  CHECK(cost.ideal_sectors == 2);
}

TEST_CASE("ncu counts the sectors of a box as an H200 does, with zeros for what is outside") {
  const auto rows = testing::read_csv("src/model/data/h200_tma_boxes.csv", 7);
  CHECK(rows.size() > 300);
  for (const auto& row : rows) {
    const auto number = [&](int i) { return std::stoi(row[i]); };
    const int matrix_rows = number(0), columns = number(1), box_rows = number(2);
    const int box_columns = number(3), x = number(4), y = number(5);
    const int inner_rows = std::min(matrix_rows - y, box_rows);
    const int left = std::max(0, x), right = std::min(columns, x + box_columns);
    const Box box{
        .address = std::uint64_t{4} * (y * columns + left),
        .rows = inner_rows,
        .row_bytes = 4 * (right - left),
        .pitch_bytes = std::uint64_t{4} * columns,
        .bytes_before = 4 * (left - x),
        .bytes_after = 4 * (x + box_columns - right),
        .bytes_of_other_rows = 4 * box_columns * (box_rows - inner_rows)};
    CAPTURE(x);
    CAPTURE(y);
    CAPTURE(columns);
    CHECK(box_cost(box).delivered == number(6));
  }
}

TEST_CASE("a box outside of its matrix costs nothing, but ncu counts its zeros") {
  const BoxCost cost = box_cost({1024, 0, 0, 512, 0, 0, 4096});
  CHECK(cost.delivered == 128);
  CHECK(cost.bytes == 0);
  CHECK(cost.sectors == 0);
  CHECK(cost.lines == 0);
}

}  // namespace model
