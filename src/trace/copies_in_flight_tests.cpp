#include "trace/copies_in_flight.h"

#include <doctest/doctest.h>

namespace trace {

TEST_CASE("a copy is in flight from its issue to the wait for its group, committed or not") {
  CopiesInFlight copies;
  copies.begin_block(64);
  copies.copy(3, 16);
  CHECK(copies.bytes_of_warp(0) == 16);
  copies.wait(3, 0);  // waits for groups when there is none yet
  CHECK(copies.bytes_of_warp(0) == 16);
  copies.commit(3);
  copies.copy(3, 4);
  copies.commit(3);
  copies.commit(3);  // an empty group is a group
  copies.wait(3, 2);
  CHECK(copies.bytes_of_warp(0) == 4);
  copies.wait(3, 1);
  CHECK(copies.bytes_of_warp(0) == 0);
}

TEST_CASE("a thread waits for its own copies, and a warp's bytes are those of its threads") {
  CopiesInFlight copies;
  copies.begin_block(40);
  for (int thread : {0, 31, 32, 39}) {
    copies.copy(thread, 8);
    copies.commit(thread);
  }
  copies.wait(31, 0);
  CHECK(copies.bytes_of_warp(0) == 8);
  CHECK(copies.bytes_of_warp(1) == 16);
  copies.begin_block(40);
  CHECK(copies.bytes_of_warp(1) == 0);
}

}  // namespace trace
