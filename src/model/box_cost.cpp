#include "model/box_cost.h"

#include <algorithm>

namespace model {

BoxCost box_cost(const Box& box) {
  constexpr std::int64_t kSector = 32, kLine = 128;
  const auto rounded_up = [](std::int64_t bytes) { return (bytes + kSector - 1) / kSector; };
  BoxCost cost{box.rows * box.row_bytes, 0, 0, 0, rounded_up(box.bytes_of_other_rows)};
  if (cost.bytes == 0) return cost;
  std::int64_t counted = 0;  // sectors before this one
  for (std::int64_t row = 0; row < box.rows; ++row) {
    const auto begin =
        static_cast<std::int64_t>(box.address + static_cast<std::uint64_t>(row) * box.pitch_bytes);
    const std::int64_t end = begin + box.row_bytes;
    const std::int64_t first = begin / kSector, last = rounded_up(end);
    cost.delivered += last - first + rounded_up(box.bytes_before) + rounded_up(box.bytes_after);
    cost.sectors += std::max(last, counted) - std::max(first, counted);
    counted = std::max(last, counted);
    cost.lines += (end + kLine - 1) / kLine - begin / kLine;
  }
  cost.ideal_sectors = rounded_up(cost.bytes);
  return cost;
}

}  // namespace model
