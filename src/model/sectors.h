// How a request to global memory splits into sectors, with the lanes of each. Counts are the sizes
// of these lists and pictures draw them, so that the two cannot disagree.
#pragma once

#include <cstdint>

#include "model/short_list.h"
#include "model/warp_access.h"

namespace model {

// Of a real GPU, which no other geometry exceeds.
inline constexpr int kSectorBytes = 32;
inline constexpr int kSectorWords = kSectorBytes / kWordBytes;

struct Sector {
  std::uint64_t number;  // address / bytes of a sector
  std::uint32_t lanes;   // that touch it
};

// A lane touches two sectors at most, and the second only where its address is not aligned.
using Sectors = ShortList<Sector, 2 * kWarpSize>;

// Those that the active lanes touch, in ascending order. Loads and stores alike.
Sectors sectors(const WarpAccess& access);

// For each word of a sector the lanes that touch it.
ShortList<std::uint32_t, kSectorWords> lanes_at_words(
    const WarpAccess& access, const Sector& sector);

}  // namespace model
