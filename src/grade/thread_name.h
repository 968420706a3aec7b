// Threads and blocks by their coordinates, as CUDA code names them.
#pragma once

#include <cstdint>
#include <string>

#include "grade/exercise.h"
#include "text/numbers.h"

namespace grade {

inline std::string pair_text(std::int64_t number, std::int64_t across) {
  return text::printed(
      "(%lld, %lld)", static_cast<long long>(number % across),
      static_cast<long long>(number / across));
}

// "(3, 0)", of a thread's number in its block.
inline std::string thread_name(const Case& c, std::int64_t thread) {
  return pair_text(thread, c.row.launch->block.x);
}

// "(1, 4)", of a block's number in the launch.
inline std::string block_name(const Case& c, std::int64_t block) {
  return pair_text(block, c.row.launch->grid.x);
}

}  // namespace grade
