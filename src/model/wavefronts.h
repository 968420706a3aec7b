// How a request to shared memory is split into wavefronts, with the lanes of each. The counts are
// the lengths of these lists, and pictures draw the same lists, so that the two always agree.
#pragma once

#include <cstdint>

#include "model/short_list.h"
#include "model/warp_access.h"

namespace model {

inline constexpr int kBanks = 32;  // of a real GPU, which no other geometry exceeds

// One cycle of shared memory, in which each bank reads or writes one word.
struct Wavefront {
  std::uint32_t lanes;  // the lanes that it serves
  int group;            // the group of lanes, from 0; the second wavefront of a group is a conflict
};

struct Wavefronts : ShortList<Wavefront, kWarpSize> {
  int groups = 0;  // the fewest wavefronts that these lanes could take
};

// Shared memory has 32 banks of 4 bytes. Lanes are served in groups that could read 128 bytes: all
// 32 lanes with up to 4 bytes, 16 lanes with 8, 8 lanes with 16. A group takes one wavefront for
// each distinct word in its fullest bank. For loads, neighbouring groups are served as one if lanes
// are equal in pairs: every active lane's neighbour l^1 is inactive or has the same address, or the
// same holds for every active lane's l^2. On a GPU of another geometry a group is as many lanes as
// fill all banks once, and no more than the warp has: WarpGeometry::lanes_a_group.
// A load with `matrices` is an ldmatrix, see below.
Wavefronts wavefronts_of_load(const WarpAccess& access);
Wavefronts wavefronts_of_store(const WarpAccess& access);

// ldmatrix.x1, .x2, .x4 (`matrices` is 1, 2, 4): lanes 8i to 8i+7 hold the addresses of the eight
// 16-byte rows of matrix i, and each matrix is a group. `access.bytes` does not matter.
Wavefronts wavefronts_of_ldmatrix(const WarpAccess& access, int matrices);

// For each bank, those of `lanes` that access a word in it.
ShortList<std::uint32_t, kBanks> lanes_at_banks(const WarpAccess& access, std::uint32_t lanes);

}  // namespace model
