#include "page/packed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

namespace page {

namespace {

constexpr std::size_t kShortest = 3;         // a shorter repetition is no shorter as text
constexpr std::size_t kMostCandidates = 16;  // of the latest places that begin alike

struct Repetition {
  std::size_t distance = 0, length = 0;
};

// The longest repetition of what was before `at`, among the latest places that begin alike.
Repetition longest(
    std::span<const std::int64_t> numbers, std::size_t at, const std::vector<std::size_t>& places) {
  Repetition best;
  const std::size_t first = places.size() - std::min(places.size(), kMostCandidates);
  for (std::size_t i = places.size(); i-- > first;) {
    std::size_t length = 0;
    while (at + length < numbers.size() && numbers[places[i] + length] == numbers[at + length]) {
      ++length;
    }
    if (length > best.length) best = {at - places[i], length};
  }
  return best;
}

}  // namespace

std::string packed(std::span<const std::int64_t> numbers) {
  std::string text = "[";
  std::map<std::array<std::int64_t, kShortest>, std::vector<std::size_t>> places;
  const auto remember = [&](std::size_t at) {
    if (at + kShortest <= numbers.size()) {
      places[{numbers[at], numbers[at + 1], numbers[at + 2]}].push_back(at);
    }
  };
  for (std::size_t at = 0; at < numbers.size();) {
    Repetition found;
    if (at + kShortest <= numbers.size()) {
      const auto known = places.find({numbers[at], numbers[at + 1], numbers[at + 2]});
      if (known != places.end()) found = longest(numbers, at, known->second);
    }
    if (at > 0) text += ",";
    const std::size_t taken = std::max<std::size_t>(found.length, 1);
    text += found.length == 0
                ? std::to_string(numbers[at])
                : "[" + std::to_string(found.distance) + "," + std::to_string(found.length) + "]";
    for (std::size_t i = 0; i < taken; ++i) remember(at + i);
    at += taken;
  }
  return text + "]";
}

}  // namespace page
