#include "trace/hazard_watch.h"

#include <doctest/doctest.h>

namespace trace {

namespace {

// Sites 1 to 3 represent three lines of a kernel; array 0 has 64 bytes.
HazardWatch watch_of_block() {
  HazardWatch watch;
  watch.watch(0, 64);
  watch.begin_block(0, 64);
  return watch;
}

std::vector<model::HazardKind> kinds(HazardWatch& watch) {
  watch.end_block();
  std::vector<model::HazardKind> all;
  for (const HazardWatch::Found& found : watch.found()) all.push_back(found.kind);
  return all;
}

const std::vector<model::HazardKind> kNone, kRace{model::HazardKind::race};

}  // namespace

TEST_CASE("a store and another thread's load without a barrier are a race, in either order") {
  HazardWatch stored_first = watch_of_block();
  stored_first.store(0, 8, 4, {0, 1});
  stored_first.load(0, 8, 4, {40, 2});
  CHECK(kinds(stored_first) == kRace);

  HazardWatch loaded_first = watch_of_block();
  loaded_first.load(0, 8, 4, {40, 2});
  loaded_first.store(0, 8, 4, {0, 1});
  CHECK(kinds(loaded_first) == kRace);  // and not a load of unwritten memory
}

TEST_CASE("a barrier orders two accesses, and so does being in the same thread") {
  HazardWatch watch = watch_of_block();
  watch.store(0, 8, 4, {0, 1});
  watch.load(0, 8, 4, {0, 2});
  watch.barrier();
  watch.load(0, 8, 4, {40, 2});
  watch.load(0, 8, 4, {41, 2});
  watch.barrier();
  watch.store(0, 8, 4, {0, 1});
  CHECK(kinds(watch) == kNone);
}

TEST_CASE("two stores to one word race, and so does a store with the first of three loads") {
  HazardWatch stores = watch_of_block();
  stores.store(0, 0, 16, {0, 1});
  stores.store(0, 12, 4, {1, 3});
  CHECK(kinds(stores) == kRace);

  HazardWatch loads = watch_of_block();
  loads.store(0, 0, 4, {5, 1});
  loads.barrier();
  loads.load(0, 0, 4, {40, 2});
  loads.load(0, 0, 4, {5, 2});
  loads.store(0, 0, 4, {5, 1});
  CHECK(kinds(loads) == kRace);
}

TEST_CASE("__syncwarp orders only the lanes of its warp") {
  HazardWatch same = watch_of_block();
  same.store(0, 0, 4, {0, 1});
  same.warp_barrier(0, ~0u, ~0u);
  same.load(0, 0, 4, {1, 2});
  CHECK(kinds(same) == kNone);

  HazardWatch other = watch_of_block();
  other.store(0, 0, 4, {0, 1});
  other.warp_barrier(0, ~0u, ~0u);
  other.warp_barrier(1, ~0u, ~0u);
  other.load(0, 0, 4, {33, 2});
  CHECK(kinds(other) == kRace);
}

TEST_CASE("a load of shared memory that the block has not stored to is reported") {
  HazardWatch watch = watch_of_block();
  watch.store(0, 0, 4, {0, 1});
  watch.end_block();
  watch.begin_block(1, 64);
  watch.load(0, 0, 4, {0, 2});
  CHECK(kinds(watch) == std::vector<model::HazardKind>{model::HazardKind::uninitialized});
}

TEST_CASE("a cp.async is visible to its thread after the wait, to others only after a barrier") {
  HazardWatch right = watch_of_block();
  right.copy(0, 0, 16, {0, 1});
  right.commit(0);
  right.wait(0, 0);
  right.load(0, 0, 4, {0, 2});
  right.barrier();
  right.load(0, 12, 4, {40, 3});
  CHECK(kinds(right) == kNone);

  HazardWatch no_wait = watch_of_block();
  no_wait.copy(0, 0, 16, {0, 1});
  no_wait.commit(0);
  no_wait.barrier();
  no_wait.load(0, 0, 4, {0, 2});
  CHECK(kinds(no_wait) == std::vector<model::HazardKind>{model::HazardKind::copy_not_waited_for});

  HazardWatch too_few_waited_for = watch_of_block();
  too_few_waited_for.copy(0, 0, 16, {0, 1});
  too_few_waited_for.commit(0);
  too_few_waited_for.wait(0, 1);
  too_few_waited_for.load(0, 0, 4, {0, 2});
  CHECK(
      kinds(too_few_waited_for) ==
      std::vector<model::HazardKind>{model::HazardKind::copy_not_waited_for});

  HazardWatch no_barrier = watch_of_block();
  no_barrier.copy(0, 0, 16, {0, 1});
  no_barrier.commit(0);
  no_barrier.wait(0, 0);
  no_barrier.load(0, 0, 4, {40, 2});
  CHECK(kinds(no_barrier) == kRace);
}

TEST_CASE("atomics race with loads and stores, but not with each other") {
  HazardWatch atomics = watch_of_block();
  atomics.store(0, 0, 4, {0, 1});
  atomics.barrier();
  atomics.store(0, 0, 4, {0, 2}, How::atomic);
  atomics.store(0, 0, 4, {40, 2}, How::atomic);
  atomics.barrier();
  atomics.load(0, 0, 4, {7, 3});
  CHECK(kinds(atomics) == kNone);

  for (const auto plain : {&HazardWatch::load, &HazardWatch::store}) {
    HazardWatch before = watch_of_block(), after = watch_of_block();
    (before.*plain)(0, 0, 4, {0, 1}, How::plain);
    before.store(0, 0, 4, {40, 2}, How::atomic);
    CHECK(kinds(before) == kRace);
    after.store(0, 0, 4, {40, 2}, How::atomic);
    (after.*plain)(0, 0, 4, {0, 1}, How::plain);
    CHECK(kinds(after) == kRace);
  }
}

}  // namespace trace
