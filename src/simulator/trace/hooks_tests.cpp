#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>

#include "simulator/trace/hooks.h"

namespace trace {

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
