#include "page/packed.h"

#include <cstdlib>
#include <random>
#include <vector>

namespace {

// What packed() wrote, read as its comment says.
std::vector<std::int64_t> unpacked(const std::string& text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.c_str() + 1;
  const auto number = [&] {
    char* end;
    const std::int64_t value = std::strtoll(at, &end, 10);
    at = end + 1;  // behind a comma or a bracket
    return value;
  };
  while (*at != ']' && *at != '\0') {
    if (*at != '[') {
      numbers.push_back(number());
      if (at[-1] == ']') break;
      continue;
    }
    ++at;
    const std::int64_t distance = number(), length = number();
    for (std::int64_t i = 0; i < length; ++i)
      numbers.push_back(numbers.at(numbers.size() - distance));
    if (*at == ',') ++at;
  }
  return numbers;
}

}  // namespace

TEST_CASE("numbers that repeat are written once") {
  const std::vector<std::int64_t> equal(1000, 4), few{7, -2};
  CHECK(page::packed({}) == "[]");
  CHECK(page::packed(few) == "[7,-2]");
  CHECK(page::packed(equal) == "[4,[1,999]]");
  const std::vector<std::int64_t> rhythm{1, 2, 3, 1, 2, 3, 1, 2, 3, 9};
  CHECK(page::packed(rhythm) == "[1,2,3,[3,6],9]");
}

TEST_CASE("packed numbers are read as they were") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> numbers(random() % 300);
    const int different = 1 + static_cast<int>(random() % 4);
    for (std::int64_t& number : numbers) number = static_cast<int>(random() % different) - 1;
    CAPTURE(page::packed(numbers));
    CHECK(unpacked(page::packed(numbers)) == numbers);
  }
}
