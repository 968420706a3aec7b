#include "model/box_cost.h"

#include <doctest/doctest.h>

namespace model {

TEST_CASE("a box of aligned rows takes the ideal number of sectors") {
  const BoxCost cost = box_cost(1024, 64, 128, 16384);
  CHECK(cost.bytes == 64 * 128);
  CHECK(cost.sectors == 64 * 4);
  CHECK(cost.ideal_sectors == cost.sectors);
  CHECK(cost.lines == 64);
}

TEST_CASE("a box whose rows start within a sector takes one more for each row") {
  const BoxCost cost = box_cost(1024 + 16, 10, 128, 16384);
  CHECK(cost.sectors == 10 * 5);
  CHECK(cost.ideal_sectors == 10 * 4);
  CHECK(cost.lines == 10 * 2);
}

TEST_CASE("rows of a box that share a sector count it once") {
  const BoxCost cost = box_cost(0, 4, 16, 16);
  CHECK(cost.sectors == 2);
  CHECK(cost.ideal_sectors == 2);
}

TEST_CASE("a box outside of its matrix costs nothing") {
  const BoxCost cost = box_cost(1024, 0, 0, 512);
  CHECK(cost.bytes == 0);
  CHECK(cost.sectors == 0);
  CHECK(cost.lines == 0);
}

}  // namespace model
