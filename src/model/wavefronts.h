// How a request to shared memory splits into wavefronts, with the lanes of each. Counts are the
// sizes of these lists and pictures draw them, so that the two cannot disagree.
#pragma once

#include <cstdint>

#include "model/short_list.h"
#include "model/warp_access.h"

namespace model {

inline constexpr int kBanks = 32;  // of a real GPU, which no other geometry exceeds

// One turn of shared memory: each bank gives or takes one word in it.
struct Wavefront {
  std::uint32_t lanes;  // that are served
  int group;            // of lanes, from 0: the second turn of a group has had to wait
};

struct Wavefronts : ShortList<Wavefront, kWarpSize> {
  int groups = 0;  // the fewest wavefronts that these lanes could take
};

// Shared memory has 32 banks of 4 bytes. Lanes are served in groups that could read 128 bytes: all
// 32 lanes of up to 4 bytes, 16 lanes of 8, 8 lanes of 16. A group takes one wavefront for each
// distinct word in its fullest bank. For loads, neighbouring groups are served as one where lanes
// are equal in pairs: every active lane's neighbour l^1 is inactive or has the same address, or
// every active lane's l^2. On a GPU of another geometry a group is as many lanes as fill all banks
// once, and no more than the warp has: WarpGeometry::lanes_a_group.
Wavefronts wavefronts_of_load(const WarpAccess& access);
Wavefronts wavefronts_of_store(const WarpAccess& access);

// ldmatrix.x1, .x2, .x4 (`matrices` is 1, 2, 4): lanes 8i to 8i+7 hold the addresses of matrix i's
// eight rows of 16 bytes; each matrix is a group. `access.bytes` does not matter.
Wavefronts wavefronts_of_ldmatrix(const WarpAccess& access, int matrices);

// For each of the banks those of `lanes` that have a word there.
ShortList<std::uint32_t, kBanks> lanes_at_banks(const WarpAccess& access, std::uint32_t lanes);

}  // namespace model
