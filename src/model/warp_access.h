// One access of one warp, and its cost, by rules measured on an H200 (src/model/data/*.csv). How an
// access is split is defined elsewhere: sectors.h for global memory, wavefronts.h for shared
// memory, async_copy.h for cp.async. The rules scale with the warp's geometry; the sizes in
// comments are those of a real GPU.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "model/warp_geometry.h"

namespace model {

// The lanes of a real warp, which no other geometry exceeds.
inline constexpr int kWarpSize = 32;

// One instruction of one warp: every active lane accesses `bytes` bytes at its address. Addresses
// are multiples of `bytes`, as the hardware requires; other addresses are tolerated here.
struct WarpAccess {
  std::uint32_t active;  // bit l: lane l takes part
  int bytes;             // per lane: 1, 2, 4, 8 or 16
  std::array<std::uint64_t, kWarpSize> address;
  WarpGeometry warp{};  // of the GPU that makes the access
  // Of an ldmatrix: the lanes give the addresses of the rows of this many matrices, 16 bytes each,
  // and receive words of all rows. 0: every lane loads or stores at its own address.
  int matrices = 0;
};

// Calls visit(lane) for each lane of the mask, lowest first.
template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// Calls visit(word) for each word (address / 4) that the lane accesses.
template <class Visit>
void for_each_word(const WarpAccess& access, int lane, Visit visit) {
  const std::uint64_t last = (access.address[lane] + access.bytes - 1) / kWordBytes;
  for (std::uint64_t word = access.address[lane] / kWordBytes; word <= last; ++word) visit(word);
}

struct SharedCost {
  int wavefronts;
  int groups;  // the fewest wavefronts these lanes could take
  int bank_conflicts() const { return wavefronts - groups; }
};

// The cost of an access does not change when one constant is added to every lane's address:
//   global_sectors      a multiple of 32, a sector
//   global_lines        a multiple of 128, a line
//   shared_load, shared_store, ldmatrix
//                       a multiple of max(bytes, 4): for aligned lanes only their relative offsets
//                       matter, because the constant only rotates the banks
//   async_copy          a multiple of 128, a line, on either side
// For another geometry, its own sector or line counts instead.

// Distinct 32-byte sectors that the active lanes access. The same for loads and stores.
int global_sectors(const WarpAccess& access);

// Distinct 128-byte lines that the active lanes access: the L1 cache looks up one per cycle.
int global_lines(const WarpAccess& access);

// The fewest sectors that can hold the distinct bytes that the active lanes access: 4, 8, 16 for a
// full warp with 4, 8, 16 bytes per lane at distinct addresses, and 1 if all addresses are equal.
int ideal_global_sectors(const WarpAccess& access);

// Sectors beyond those of the same number of lanes at contiguous, distinct addresses: 0 for a
// coalesced access. Lanes that share addresses may access more sectors than the ideal and still be
// coalesced: two groups of 16 lanes that each load one float take two sectors; the ideal is one.
int uncoalesced_sectors(const WarpAccess& access);

SharedCost shared_load(const WarpAccess& access);
SharedCost shared_store(const WarpAccess& access);
SharedCost ldmatrix(const WarpAccess& access, int matrices);

struct AsyncCopyCost {
  int sectors;
  SharedCost shared;
};

AsyncCopyCost async_copy(const WarpAccess& to, const WarpAccess& from);

}  // namespace model
