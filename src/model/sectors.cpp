#include "model/sectors.h"

#include <algorithm>
#include <bit>

namespace model {

namespace {

void touch(Sectors& sectors, std::uint64_t number, int lane) {
  const std::uint32_t bit = std::uint32_t{1} << lane;
  // The addresses of nearly every request ascend.
  if (sectors.empty() || sectors.end()[-1].number < number) {
    sectors.push_back({number, bit});
    return;
  }
  Sector* const at = std::lower_bound(
      sectors.begin(), sectors.end(), number,
      [](const Sector& sector, std::uint64_t wanted) { return sector.number < wanted; });
  if (at->number == number) {
    at->lanes |= bit;
  } else {
    sectors.insert(at, {number, bit});
  }
}

}  // namespace

Sectors sectors(const WarpAccess& access) {
  Sectors touched;
  const int shift = std::countr_zero(access.warp.sector_bytes);
  for_each_lane(access.active, [&](int lane) {
    const std::uint64_t first = access.address[lane] >> shift;
    const std::uint64_t last = (access.address[lane] + access.bytes - 1) >> shift;
    touch(touched, first, lane);
    if (last != first) touch(touched, last, lane);
  });
  return touched;
}

ShortList<std::uint32_t, kSectorWords> lanes_at_words(
    const WarpAccess& access, const Sector& sector) {
  const int words = access.warp.sector_words();
  ShortList<std::uint32_t, kSectorWords> lanes;
  for (int word = 0; word < words; ++word) lanes.push_back(0);
  for_each_lane(sector.lanes, [&](int lane) {
    for_each_word(access, lane, [&](std::uint64_t word) {
      if (word / words == sector.number) lanes[word % words] |= 1u << lane;
    });
  });
  return lanes;
}

}  // namespace model
