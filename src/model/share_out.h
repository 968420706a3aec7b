// How the tiles of C are shared out among the SMs of a GPU, if some are cut along K.
#pragma once

#include <cstdint>
#include <vector>

#include "model/stage.h"

namespace model {

// The first `whole` tiles have a block each. Each of the others is cut along K into `parts` parts,
// with a block each: `depth` K tiles, and in the last part what is left. Blocks are numbered whole
// tiles first, then the first parts of all cut tiles, then the second parts, and so on.
struct ShareOut {
  int whole;
  int parts;       // of a tile that is cut; 1 if none is
  int depth;       // K tiles
  int blocks = 0;  // that compute the whole tiles, with as many or one more each; 0: one for each
};

// For `tiles` tiles of C with `k_tiles` K tiles each. All SMs get equally many tiles, and the rest,
// tiles % sms, would occupy only some of them. These are cut, unless that saves too little or the
// parts would be too short. With 0 SMs no tile is cut.
ShareOut share_out(int tiles, int k_tiles, int sms);

// For a product. Only a variant with Sharing::cut cuts tiles. With Sharing::persistent, block b
// computes the tiles b, b + blocks, b + 2 blocks, ..., and there is one for each SM; with 0 SMs,
// one for each tile.
ShareOut share_out(const Variant& variant, int M, int N, int K, int sms);
int tiles_of(const Variant& variant, int M, int N);

// Whether a block computes several tiles.
bool is_in_turns(const ShareOut& shares, int tiles);

// The number of blocks.
int blocks_of(const ShareOut& shares, int tiles);

// The work of the SM that is done last, in whole tiles. The parts are chosen so that no SM takes
// longer for its other parts than for a first one.
double most_tiles(const ShareOut& shares, int tiles, int k_tiles, int sms);

// The work of those blocks, in whole tiles.
double tiles_computed(
    const ShareOut& shares, int tiles, int k_tiles, const std::vector<std::int64_t>& blocks);

// The floats that the parts' sums take in memory; 0 if no tile is cut.
std::int64_t floats_of_sums(const ShareOut& shares, const Variant& variant, int tiles);

// Blocks that represent all others, in ascending order: every part of the last tile, and a whole
// tile if there is one, else every part of the first. Few, since they are traced one by one.
// If blocks compute several tiles: one with most of them, and the one with the last.
std::vector<std::int64_t> sample_of(const ShareOut& shares, int tiles);

}  // namespace model
