#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include "simulator/trace/hazard_watch.h"
#include "simulator/trace/hooks.h"
#include "simulator/trace/thread_order.h"

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

  for (const bool stores : {false, true}) {
    HazardWatch before = watch_of_block(), after = watch_of_block();
    const auto plain = [&](HazardWatch& watch) {
      stores ? watch.store(0, 0, 4, {0, 1}) : watch.load(0, 0, 4, {0, 1});
    };
    plain(before);
    before.store(0, 0, 4, {40, 2}, How::atomic);
    CHECK(kinds(before) == kRace);
    after.store(0, 0, 4, {40, 2}, How::atomic);
    plain(after);
    CHECK(kinds(after) == kRace);
  }
}

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

namespace {

// A stack with an array of four floats, followed by two variables.
struct Stack {
  alignas(8) float array[4] = {};
  std::int32_t step = 0;
  std::int32_t other = 0;
  std::int64_t wide = 0;

  std::uintptr_t begin() const { return reinterpret_cast<std::uintptr_t>(this); }
  std::uintptr_t end() const { return begin() + sizeof *this; }
};

constexpr LocalStores::Places kLoop{10, 20}, kOther{10, 30};

// Stores `value` to words [first, last) of the stack, from one place in the code.
void store(
    Stack& stack, LocalStores& stores, int first, int last, float value,
    const LocalStores::Places& places) {
  for (int word = first; word < last; ++word) {
    const std::uintptr_t address = stack.begin() + 4 * word;
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
    stores.note(address, 4, places);
  }
}

}  // namespace

TEST_CASE("the store that gave an index its value is found, if it went through an array") {
  Stack stack;
  LocalStores stores;
  store(stack, stores, 0, 5, -1e30f, kLoop);
  REQUIRE(stack.step != 0);
  CHECK(stores.that_made(stack.step, stack.begin(), stack.end()) == kLoop);
  CHECK(!stores.that_made(stack.step + 1, stack.begin(), stack.end()));
  CHECK(!stores.that_made(stack.step, stack.begin() + sizeof stack, stack.end()));
  // Two floats are one variable of 8 bytes.
  store(stack, stores, 5, 8, 2.5f, kLoop);
  CHECK(stores.that_made(stack.wide, stack.begin(), stack.end()) == kLoop);
}

TEST_CASE("a store to one variable alone, as through a reference, did not go through an array") {
  Stack stack;
  LocalStores stores;
  store(stack, stores, 0, 4, 1, kLoop);
  store(stack, stores, 4, 5, -1e30f, kOther);
  CHECK(!stores.that_made(stack.step, stack.begin(), stack.end()));
}

TEST_CASE("the highest store of a part of the stack is the one that went farthest") {
  Stack stack;
  LocalStores stores;
  store(stack, stores, 0, 4, 1, kLoop);
  store(stack, stores, 5, 6, 1, kOther);
  CHECK(stores.highest(stack.begin(), stack.end()) == kOther);
  CHECK(stores.highest(stack.begin(), stack.begin() + 16) == kLoop);
  CHECK(!stores.highest(stack.begin() + 24, stack.end()));
}

TEST_CASE("a variable that has changed since is no longer what the store made of it") {
  Stack stack;
  LocalStores stores;
  store(stack, stores, 0, 4, 1, kLoop);
  store(stack, stores, 4, 5, -1e30f, kLoop);
  const std::int32_t before = stack.step;
  stack.step = 3;
  CHECK(!stores.that_made(before, stack.begin(), stack.end()));
}

}  // namespace trace
