#include "machine/mbarrier.h"

#include <doctest/doctest.h>

namespace machine {

TEST_CASE("a phase of an mbarrier needs all arrivals") {
  Mbarrier barrier(2);
  CHECK(barrier.is_complete(1));
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.arrive());
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(0));
  CHECK_FALSE(barrier.is_complete(1));
  CHECK(barrier.phase() == 1);
  CHECK(barrier.arrive());
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(1));
}

TEST_CASE("a phase of an mbarrier needs all bytes that were announced") {
  Mbarrier barrier(1);
  CHECK(barrier.expect(100));
  CHECK(barrier.arrive());
  CHECK_FALSE(barrier.arrive());
  CHECK(barrier.receive(60));
  CHECK_FALSE(barrier.is_complete(0));
  CHECK(barrier.receive(40));
  CHECK(barrier.is_complete(0));
  CHECK(barrier.missing_arrivals() == 1);
}

TEST_CASE("bytes may come to an mbarrier before they are announced") {
  Mbarrier barrier(1);
  CHECK(barrier.receive(64));
  CHECK(barrier.missing_bytes() == -64);
  CHECK(barrier.expect(64));
  CHECK(barrier.arrive());
  CHECK(barrier.is_complete(0));
}

TEST_CASE("an mbarrier holds no more than 2^20 - 1 bytes") {
  Mbarrier barrier(1);
  CHECK_FALSE(barrier.expect(1 << 20));
  CHECK(barrier.expect((1 << 20) - 1));
  CHECK_FALSE(barrier.expect(1));
}

}  // namespace machine
