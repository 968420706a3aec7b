#include "machine/block_sample.h"

#include <algorithm>
#include <numeric>

namespace machine {

std::vector<std::int64_t> sample_of(simt::Extent grid) {
  constexpr std::int64_t kSmall = 8;
  if (grid.volume() <= kSmall) {
    std::vector<std::int64_t> all(grid.volume());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  const std::int64_t row = grid.x, last = grid.volume() - 1;
  std::vector<std::int64_t> blocks{0, row - 1, grid.y / 2 * row + row / 2, last - (row - 1), last};
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

}  // namespace machine
