// What a box that the copy engine (TMA) moves costs in global memory.
#pragma once

#include <cstdint>

namespace model {

struct BoxCost {
  std::int64_t bytes;
  std::int64_t sectors;        // distinct 32-byte pieces of its rows
  std::int64_t ideal_sectors;  // the fewest that hold as many bytes
  std::int64_t lines;          // 128-byte lines, summed over its rows
};

// The part of a box that is inside of the matrix: rows of `row_bytes`, `pitch_bytes` apart, from
// `address` on. Rows that share a sector count it once. That a sector is read only once is assumed,
// not measured.
BoxCost box_cost(
    std::uint64_t address, std::int64_t rows, std::int64_t row_bytes, std::uint64_t pitch_bytes);

}  // namespace model
