// Decodes what the compiler's check of array bounds (-fsanitize=bounds-strict) reports.
#pragma once

#include <cstdint>
#include <string>

namespace trace {

// An index that is outside a dimension of an array.
struct BadIndex {
  std::string array;  // its name in the source, or its type without the source
  std::int64_t index, extent;
};

// `data` and `index` are the arguments of __ubsan_handle_out_of_bounds, as numbers.
BadIndex bad_index(std::uintptr_t data, std::uintptr_t index);

}  // namespace trace
