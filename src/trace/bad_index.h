// What the compiler's check of array bounds (-fsanitize=bounds-strict) hands over.
#pragma once

#include <cstdint>
#include <string>

namespace trace {

// An index that is no element of a dimension of an array.
struct BadIndex {
  std::string array;  // as the source calls it, or its type where the source is not there
  std::int64_t index, extent;
};

// `data` and `index` are what __ubsan_handle_out_of_bounds is called with, as numbers.
BadIndex bad_index(std::uintptr_t data, std::uintptr_t index);

}  // namespace trace
