// One access of one warp, and what it costs, by the rules measured on an H200
// (src/model/data/*.csv). The rules themselves say how an access splits: sectors.h for global
// memory, wavefronts.h for shared memory, async_copy.h for cp.async.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace model {

inline constexpr int kWarpSize = 32;
inline constexpr int kWordBytes = 4;

// One instruction of one warp: every active lane touches `bytes` bytes at its address.
// Addresses are multiples of `bytes`, as the hardware demands; others crash nothing here.
struct WarpAccess {
  std::uint32_t active;  // bit l: lane l takes part
  int bytes;             // a lane: 1, 2, 4, 8 or 16
  std::array<std::uint64_t, kWarpSize> address;
};

// Calls visit(lane) for each lane of the mask, lowest first.
template <class Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

// Calls visit(word) for each word (address / 4) that the lane touches.
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

// The cost of an access stays the same when one constant is added to every lane's address:
//   global_sectors      a multiple of 32, a sector
//   global_lines        a multiple of 128, a line
//   shared_load, shared_store, ldmatrix
//                       a multiple of max(bytes, 4): aligned lanes need no more than their offsets
//                       from each other, because the constant only turns the ring of banks
//   async_copy          a multiple of 128, a line, on either side

// Distinct 32-byte sectors that the active lanes touch. Loads and stores alike.
int global_sectors(const WarpAccess& access);

// Distinct 128-byte lines that the active lanes touch: what the L1 cache looks up, one a cycle.
int global_lines(const WarpAccess& access);

// The fewest sectors that can hold the distinct bytes that the active lanes touch: 4, 8, 16 for a
// full warp of 4, 8, 16 bytes per lane, each its own, and 1 where all lanes want the same address.
int ideal_global_sectors(const WarpAccess& access);

// Sectors beyond those that as many lanes would touch if each had its own bytes, beside the next
// lane's: 0 for a coalesced access. Lanes that share addresses may touch more sectors than the
// ideal and still be coalesced: two rows of 16 lanes that want a float each are two sectors,
// ideally one.
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
