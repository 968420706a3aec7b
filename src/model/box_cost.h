// What a box that the copy engine (TMA) moves costs in global memory.
#pragma once

#include <cstdint>

namespace model {

struct BoxCost {
  std::int64_t bytes;
  std::int64_t sectors;        // distinct 32-byte pieces of its rows
  std::int64_t ideal_sectors;  // the fewest that hold as many bytes
  std::int64_t lines;          // 128-byte lines, summed over its rows
  std::int64_t delivered;      // the sectors that ncu counts, with zeros for what is outside
};

struct Box {
  // The part that is inside of the matrix: rows of `row_bytes`, `pitch_bytes` apart.
  std::uint64_t address;
  std::int64_t rows, row_bytes;
  std::uint64_t pitch_bytes;
  // What is outside: to the left and to the right of each of these rows, and in other rows.
  std::int64_t bytes_before = 0, bytes_after = 0, bytes_of_other_rows = 0;
};

// Rows that share a sector count it once among `sectors`. That it is read only once is assumed, not
// measured. `delivered` is what ncu counts as read into L1 by the copy engine
// (l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld), measured on an H200
// (data/h200_tma_boxes.csv, boxes of 128 bytes per row): each row counts the sectors that its inner
// part touches, and for what is outside on either side one per 32 bytes, rounded up.
BoxCost box_cost(const Box& box);

}  // namespace model
