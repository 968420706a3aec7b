#include "model/share_out.h"

#include <algorithm>

namespace model {

namespace {

int ceil_div(std::int64_t a, std::int64_t b) {
  return static_cast<int>((a + b - 1) / b);
}

}  // namespace

ShareOut share_out(int tiles, int k_tiles, int sms) {
  // In K tiles. To start a block, to store its sums and to add them up costs about as much as a few
  // K tiles, so less than kLeastSaved is not worth it (measured on an H200, results/fp32-log.md).
  constexpr int kOverhead = 4, kLeastSaved = 16, kLeastDepth = 8;
  const ShareOut none{tiles, 1, k_tiles};
  const int left = sms > 0 ? tiles % sms : 0;
  if (left == 0) return none;
  int depth = k_tiles;
  if (const int parts = sms / left; parts >= 2) {
    depth = std::max(ceil_div(k_tiles, parts), kLeastDepth);
  } else if (const int idle = sms - left; idle > 0) {
    // Every tile loses its last part to the idle SMs, which compute several of them, one after the
    // other. All are done at the same time if depth = rounds * (k_tiles - depth + kOverhead).
    const int rounds = ceil_div(left, idle);
    depth = ceil_div(std::int64_t{rounds} * (k_tiles + kOverhead), rounds + 1);
  }
  if (k_tiles - depth < kLeastSaved) return none;
  return {tiles - left, ceil_div(k_tiles, depth), depth};
}

int tiles_of(const Variant& variant, int M, int N) {
  return ceil_div(M, variant.BM) * ceil_div(N, variant.BN);
}

ShareOut share_out(const Variant& variant, int M, int N, int K, int sms) {
  const int k_tiles = variant.BK > 0 ? std::max(1, ceil_div(K, variant.BK)) : 1;
  const int tiles = tiles_of(variant, M, N);
  if (variant.sharing == Sharing::persistent) {
    return {tiles, 1, k_tiles, sms > 0 ? std::min(sms, tiles) : tiles};
  }
  return share_out(tiles, k_tiles, variant.sharing == Sharing::cut ? sms : 0);
}

bool is_in_turns(const ShareOut& shares, int tiles) {
  return shares.blocks > 0 && shares.blocks < tiles;
}

int blocks_of(const ShareOut& shares, int tiles) {
  if (shares.blocks > 0) return shares.blocks;
  return shares.whole + (tiles - shares.whole) * shares.parts;
}

double most_tiles(const ShareOut& shares, int tiles, int k_tiles, int sms) {
  if (shares.parts == 1) return ceil_div(tiles, sms);
  return static_cast<double>(shares.whole) / sms + static_cast<double>(shares.depth) / k_tiles;
}

double tiles_computed(
    const ShareOut& shares, int tiles, int k_tiles, const std::vector<std::int64_t>& blocks) {
  std::int64_t computed = 0;  // K tiles
  for (const std::int64_t block : blocks) {
    if (is_in_turns(shares, tiles)) {
      computed += k_tiles * ((tiles - block + shares.blocks - 1) / shares.blocks);
      continue;
    }
    const std::int64_t part =
        block < shares.whole ? 0 : (block - shares.whole) / (tiles - shares.whole);
    computed += block < shares.whole
                    ? k_tiles
                    : std::min<std::int64_t>(shares.depth, k_tiles - part * shares.depth);
  }
  return static_cast<double>(computed) / k_tiles;
}

std::int64_t floats_of_sums(const ShareOut& shares, const Variant& variant, int tiles) {
  return std::int64_t{tiles - shares.whole} * shares.parts * variant.BM * variant.BN;
}

std::vector<std::int64_t> sample_of(const ShareOut& shares, int tiles) {
  std::vector<std::int64_t> blocks;
  if (shares.whole > 0) blocks = {0};
  if (is_in_turns(shares, tiles)) blocks.push_back((tiles - 1) % shares.blocks);
  const int cut = tiles - shares.whole;
  for (int part = 0; part < shares.parts && cut > 0; ++part) {
    const std::int64_t first = shares.whole + std::int64_t{part} * cut;
    if (shares.whole == 0) blocks.push_back(first);
    blocks.push_back(first + cut - 1);  // the corner of C, where both edges are
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

}  // namespace model
