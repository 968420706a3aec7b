// What one access of one warp costs, by the rules measured on an H200 (src/model/data/*.csv).
#pragma once

#include <array>
#include <cstdint>

namespace model {

inline constexpr int kWarpSize = 32;

// One instruction of one warp: every active lane touches `bytes` bytes at its address.
// Addresses are multiples of `bytes`, as the hardware demands; others crash nothing here.
struct WarpAccess {
  std::uint32_t active;  // bit l: lane l takes part
  int bytes;             // a lane: 1, 2, 4, 8 or 16
  std::array<std::uint64_t, kWarpSize> address;
};

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

// Sectors that as many lanes would touch if they were contiguous and aligned: 4, 8, 16 for a full
// warp of 4, 8, 16 bytes a lane. Lanes that share an address can need fewer than this.
int ideal_global_sectors(const WarpAccess& access);

// Shared memory has 32 banks of 4 bytes. Lanes are served in groups that could read 128 bytes: all
// 32 lanes of up to 4 bytes, 16 lanes of 8, 8 lanes of 16. A group takes one wavefront for each
// distinct word in its fullest bank. For loads, neighbouring groups are served as one where lanes
// are equal in pairs: every active lane's neighbour l^1 is inactive or has the same address, or
// every active lane's l^2.
SharedCost shared_load(const WarpAccess& access);
SharedCost shared_store(const WarpAccess& access);

// ldmatrix.x1, .x2, .x4 (`matrices` is 1, 2, 4): lanes 8i to 8i+7 hold the addresses of matrix i's
// eight rows of 16 bytes; each matrix is a group. `access.bytes` does not matter.
SharedCost ldmatrix(const WarpAccess& access, int matrices);

struct AsyncCopyCost {
  int sectors;
  SharedCost shared;
};

// cp.async (LDGSTS) of 4, 8 or 16 bytes a lane, from global memory to shared memory.
//
// 4 and 8 bytes: groups of 32 and 16 lanes. The words are read from the L1 cache, whose lines have
// the same 32 banks, so that a lane waits for all lanes of its group that read from its bank or
// write to its bank: a group takes as many wavefronts as the largest number of such lanes, itself
// included, that any of its lanes has. Lanes that read the same word wait as well.
//
// 16 bytes: see the comments in the .cpp file. Eight lanes that copy a line to a line take one
// wavefront, in any order that keeps the two lanes of a sector together.
//
// A lane that only fills with zeros (active in `to`, not in `from`) reads nothing; the filling
// lanes are a store of their own, because the compiler makes an instruction of their own for them.
//
// Exact for 915 measured copies: contiguous, strided, permuted, predicated and random ones, and of
// 4 and 8 bytes also those with filling lanes. Of 16 bytes with filling lanes the counters say
// different things, as the compiler writes them: with one instruction and the size in a register
// the shared side costs what a copy by all lanes would; with two predicated instructions it
// depends on what stands around them. The async pipeline, which has them at its edges, is counted
// as by this rule (results/h200-ncu-252x508x132.txt). The counters know no bank conflicts for 16
// bytes.
AsyncCopyCost async_copy(const WarpAccess& to, const WarpAccess& from);

}  // namespace model
