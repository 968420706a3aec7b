#include "model/box_cost.h"

#include <algorithm>

namespace model {

BoxCost box_cost(
    std::uint64_t address, std::int64_t rows, std::int64_t row_bytes, std::uint64_t pitch_bytes) {
  constexpr std::uint64_t kSector = 32, kLine = 128;
  BoxCost cost{rows * row_bytes, 0, 0, 0};
  if (cost.bytes == 0) return {0, 0, 0, 0};
  std::uint64_t counted = 0;  // sectors before this one
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t begin = address + static_cast<std::uint64_t>(row) * pitch_bytes;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(row_bytes);
    const std::uint64_t first = std::max(begin / kSector, counted);
    counted = std::max(counted, (end + kSector - 1) / kSector);
    cost.sectors += static_cast<std::int64_t>(counted - std::min(first, counted));
    cost.lines += static_cast<std::int64_t>((end + kLine - 1) / kLine - begin / kLine);
  }
  cost.ideal_sectors = (cost.bytes + kSector - 1) / kSector;
  return cost;
}

}  // namespace model
