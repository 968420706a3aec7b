// How one warp's cp.async is split on its global side and on its shared side.
#pragma once

#include "model/sectors.h"
#include "model/wavefronts.h"

namespace model {

struct AsyncCopySplit {
  Sectors sectors;  // in ascending order; one that is fetched n times is listed n times
  Wavefronts wavefronts;
};

// cp.async (LDGSTS) of 4, 8 or 16 bytes per lane, from global memory to shared memory.
//
// 4 and 8 bytes: the lanes form groups of 32 and 16. The words are read from the L1 cache, whose
// lines have the same 32 banks. So a lane waits for all lanes of its group that read from its bank
// or write to its bank, even if they read the same word. A group takes as many wavefronts as the
// largest number of lanes, including the lane itself, that any of its lanes shares a bank with.
//
// 16 bytes: see the comments in the .cpp file. Eight lanes that copy a line to a line take one
// wavefront, in any order that keeps the two lanes of a sector together.
//
// A lane that only fills with zeros (active in `to`, not in `from`) reads nothing. The filling
// lanes are a separate store, because the compiler makes a separate instruction for them.
//
// Exact for 915 measured copies: contiguous, strided, permuted, predicated and random ones; for 4
// and 8 bytes also with filling lanes. For 16 bytes with filling lanes the counters depend on the
// code that the compiler writes. With one instruction and the size in a register, the shared side
// costs what a copy by all lanes would. With two predicated instructions, the cost depends on the
// code around them. The async pipeline has such copies at its edges, and its counts equal this
// rule's (results/h200-ncu-252x508x132.txt). The counters report no bank conflicts for 16 bytes.
//
// On a GPU of another geometry a "line" is what all banks give in one cycle, groups are as in
// wavefronts.h, and a 16-byte copy whose sectors are no larger moves a whole one.
//
// The assignment of lanes to wavefronts is our choice where the counters tell only the number of
// wavefronts.
AsyncCopySplit split_async_copy(const WarpAccess& to, const WarpAccess& from);

}  // namespace model
