// How one warp's cp.async splits, on its global side and on its shared side.
#pragma once

#include "model/sectors.h"
#include "model/wavefronts.h"

namespace model {

struct AsyncCopySplit {
  Sectors sectors;  // in ascending order; one that is fetched more than once stands there as often
  Wavefronts wavefronts;
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
//
// On a GPU of another geometry "line" is what all banks give in one turn, groups are as in
// wavefronts.h, and a 16-byte copy whose sectors are no larger moves a whole one.
//
// Which lane is served in which turn is a choice where the counters only tell how many turns there
// are.
AsyncCopySplit split_async_copy(const WarpAccess& to, const WarpAccess& from);

}  // namespace model
