// Whole numbers as short JSON: what repeats is written once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace page {

// A JSON array. A number is itself; [d, n] repeats n numbers, one by one, from d places before:
// 4, 4, 4, 4 is [4,[1,3]]. src/page/recording.js reads it.
std::string packed(std::span<const std::int64_t> numbers);

}  // namespace page
