#include "simulator/trace/hooks.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace trace {

TEST_CASE("a store gave an index its value if it went through an array, and nothing since did") {
  constexpr LocalStores::Places kLoop{10, 20}, kOther{10, 30};
  std::int32_t stack[6] = {};  // an array of four words, followed by two variables
  const auto begin = reinterpret_cast<std::uintptr_t>(stack), end = begin + sizeof stack;
  LocalStores stores;
  const auto store = [&](int word, std::int32_t value, const LocalStores::Places& places) {
    stack[word] = value;
    stores.note(begin + 4 * word, 4, places);
  };
  for (int word = 0; word < 4; ++word) store(word, 1, kLoop);
  store(4, -77, kOther);  // alone, as through a reference
  CHECK(!stores.that_made(-77, begin, end));
  store(4, -77, kLoop);
  CHECK(stores.that_made(-77, begin, end) == kLoop);
  CHECK(!stores.that_made(-76, begin, end));
  CHECK(!stores.that_made(-77, end, end));
  stack[4] = 3;
  CHECK(!stores.that_made(-77, begin, end));
  // The highest one went farthest.
  store(5, 1, kOther);
  CHECK(stores.highest(begin, end) == kOther);
  CHECK(stores.highest(begin, begin + 16) == kLoop);
  CHECK(!stores.highest(end, end + 16));
}

}  // namespace trace
