// How a request to global memory is split into sectors, with the lanes of each. The counts are the
// lengths of these lists, and pictures draw the same lists, so that the two always agree.
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
  std::uint32_t lanes;   // that access it
};

// A lane accesses at most two sectors, and the second only if its address is misaligned.
using Sectors = ShortList<Sector, 2 * kWarpSize>;

// The sectors that the active lanes access, in ascending order. The same for loads and stores.
Sectors sectors(const WarpAccess& access);

// For each word of a sector, the lanes that access it.
ShortList<std::uint32_t, kSectorWords> lanes_at_words(
    const WarpAccess& access, const Sector& sector);

}  // namespace model
