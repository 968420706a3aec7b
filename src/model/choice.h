// Which variant of a stage suits a product on a GPU.
#pragma once

#include <string>

#include "model/gpus.h"
#include "model/stage.h"

namespace model {

// How the tiles of C are spread over the SMs.
struct Spread {
  long long tiles;    // one for each block
  long long results;  // that the busiest SM computes: whole tiles, even where C ends within one
  long long warps;    // of the busiest SM, if all its blocks were resident at the same time
  // That the busiest SM needs for one step of K: its products take that long, and on tensor cores,
  // which multiply faster than tiles arrive, also its loads at its share of what the L2 cache
  // delivers. 0 if the GPU has no clock.
  double clocks;
};
Spread spread(const Variant& variant, const Gpu& gpu, int M, int N);

// The variant for large products: the first whose shared memory a block can have on `gpu`. If none
// can, the very first.
const Variant& first_variant(const Stage& stage, const Gpu& gpu);

// The variant of `stage` for C (M x N) on `gpu`. The stage has at least one.
//
// A larger tile makes fewer loads per result, so the choice begins with first_variant(). But a
// small C has few large tiles. Then some SMs compute fewer tiles than others, or none, and the
// product takes as long as the busiest SM. So a later variant that fits and is marked `for_small`
// is taken if it leaves the busiest SM at most 3/4 of the clocks of the one chosen so far. With the
// fp32 units, these are 3/4 of the results, and the margin pays for the additional loads. With
// tensor cores, whose clocks include the loads, they must be at most 7/10: on an H200, 0.74 was not
// worth it (stage 13 at 1024 x 1024 x 1024), and 0.62 was (stage 14 at the same size).
//
// Warps hide each other's waiting, unless the stage has tiles in flight for that. So if the busiest
// SM would have fewer than 12 warps (3 per scheduler) in a stage without a pipeline, a later
// variant is also taken if it gives that SM more warps and no more results.
//
// If C gives each SM at least three of the first variant's tiles, that variant is chosen, unless
// much of the tiles' area lies outside of C. Twice the rows and columns never get a smaller tile,
// but a few more may: 11 x 11 tiles are at most one for each of 132 SMs, and of 12 x 12 tiles, 12
// SMs compute two. The paper GPU has no clock and nothing to gain: it gets the first variant.
const Variant& suited_variant(const Stage& stage, const Gpu& gpu, int M, int N);

// The variant of another stage to set beside `variant`: the one with the same name, so that only
// the idea differs, else the one that suits.
const Variant& comparable_variant(
    const Variant& variant, const Stage& other, const Gpu& gpu, int M, int N);

// What `gpu` lacks to run the kernels of `stage`, in a few words: "needs sm_80". Empty if nothing.
std::string why_not_run(const Stage& stage, const Gpu& gpu);

// Whether they can be traced for it: instructions of a whole warp exchange data between 32 lanes.
bool is_traceable(const Stage& stage, const Gpu& gpu);

}  // namespace model
