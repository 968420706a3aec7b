#include "model/share_out.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace model {

namespace {

constexpr int kSms = 132;  // of an H200

int cut_tiles(const ShareOut& shares, int tiles) {
  return tiles - shares.whole;
}

// What a block computes, by the numbering in share_out.h: K tiles [begin, end) of a tile of C.
struct Part {
  int tile, begin, end;
};

Part part_of(const ShareOut& shares, int tiles, int k_tiles, int block) {
  if (block < shares.whole) return {block, 0, k_tiles};
  const int behind = block - shares.whole, cut = cut_tiles(shares, tiles);
  const int begin = behind / cut * shares.depth;
  return {shares.whole + behind % cut, begin, std::min(k_tiles, begin + shares.depth)};
}

struct Shape {
  int tiles, k_tiles, sms;
};

std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.tiles << " tiles of " << s.k_tiles << " K tiles on " << s.sms << " SMs";
}

std::vector<Shape> random_shapes() {
  std::mt19937 random(11);
  const auto from_1_to = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
  std::vector<Shape> shapes;
  for (int i = 0; i < 300; ++i) shapes.push_back({from_1_to(900), from_1_to(600), from_1_to(160)});
  // Few tiles, so that a tile has many parts.
  for (int i = 0; i < 300; ++i) shapes.push_back({from_1_to(9), from_1_to(2000), from_1_to(160)});
  return shapes;
}

template <class Visit>
void for_each_shape(Visit visit) {
  int cut = 0;
  for (const Shape& shape : random_shapes()) {
    CAPTURE(shape);
    const ShareOut shares = share_out(shape.tiles, shape.k_tiles, shape.sms);
    cut += shares.parts > 1;
    visit(shape, shares);
  }
  CHECK(cut > 200);  // the shapes are not all without cuts
}

}  // namespace

TEST_CASE("no tile is cut if every SM gets equally many, or if there are no SMs to share among") {
  for (const Shape& shape : {Shape{132, 512, kSms}, {528, 512, kSms}, {512, 512, 0}, {7, 900, 1}}) {
    CAPTURE(shape);
    const ShareOut shares = share_out(shape.tiles, shape.k_tiles, shape.sms);
    CHECK(shares.whole == shape.tiles);
    CHECK(shares.parts == 1);
    CHECK(shares.depth == shape.k_tiles);
    CHECK(blocks_of(shares, shape.tiles) == shape.tiles);
  }
}

TEST_CASE("no tile is cut if that saves less than 16 K tiles") {
  CHECK(share_out(1, 16, 2).parts == 1);
  CHECK(share_out(1, 31, 2).parts == 1);
  CHECK(share_out(1, 32, 2).parts == 2);
  CHECK(share_out(131, 512, kSms).parts == 1);  // one SM is idle, and nobody would be done earlier
}

TEST_CASE("at 4096 cubed on an H200, 116 tiles of the last wave are cut in two parts each") {
  Variant variant{};
  variant.BM = 128, variant.BN = 256, variant.BK = 8;
  variant.sharing = Sharing::cut;
  const int tiles = tiles_of(variant, 4096, 4096);
  const ShareOut shares = share_out(variant, 4096, 4096, 4096, kSms);
  CHECK(tiles == 512);
  CHECK(shares.whole == 396);
  CHECK(shares.parts == 2);
  CHECK(shares.depth == 459);
  CHECK(blocks_of(shares, tiles) == 628);
  CHECK(sample_of(shares, tiles) == std::vector<std::int64_t>{0, 511, 627});
  for (const Sharing other : {Sharing::grid, Sharing::ordered}) {
    variant.sharing = other;
    CHECK(share_out(variant, 4096, 4096, 4096, kSms).parts == 1);
  }
}

TEST_CASE("a product without K has tiles, and none of them is cut") {
  Variant variant{};
  variant.BM = variant.BN = 64, variant.BK = 8;
  variant.sharing = Sharing::cut;
  const ShareOut shares = share_out(variant, 65, 64, 0, kSms);
  CHECK(shares.whole == 2);
  CHECK(shares.parts == 1);
  CHECK(shares.depth == 1);
}

TEST_CASE("every K tile of every tile belongs to exactly one block, and no block is empty") {
  for_each_shape([](const Shape& shape, const ShareOut& shares) {
    std::vector<std::vector<std::pair<int, int>>> ranges(shape.tiles);
    for (int block = 0; block < blocks_of(shares, shape.tiles); ++block) {
      const Part part = part_of(shares, shape.tiles, shape.k_tiles, block);
      REQUIRE(part.tile < shape.tiles);
      CHECK(part.begin < part.end);
      ranges[part.tile].push_back({part.begin, part.end});
    }
    for (const auto& of_tile : ranges) {  // already in the order of K
      int end = 0;
      for (const auto& [begin, part_end] : of_tile) {
        CHECK(begin == end);
        end = part_end;
      }
      CHECK(end == shape.k_tiles);
    }
  });
}

TEST_CASE("all SMs get equally many whole tiles, and the sums fill at most two tiles per SM") {
  for_each_shape([](const Shape& shape, const ShareOut& shares) {
    const int cut = cut_tiles(shares, shape.tiles);
    if (shares.parts > 1) {
      CHECK(shares.whole % shape.sms == 0);
      CHECK(cut < shape.sms);
    } else {
      CHECK(cut == 0);
    }
    CHECK(cut * shares.parts <= 2 * shape.sms);
  });
}

// Simulates the launch: a block starts on the SM that is free first.
TEST_CASE("the last SM is done when the rule says, and a cut never makes it later") {
  for_each_shape([](const Shape& shape, const ShareOut& shares) {
    std::multiset<int> free_at;
    for (int sm = 0; sm < shape.sms; ++sm) free_at.insert(0);
    for (int block = 0; block < blocks_of(shares, shape.tiles); ++block) {
      const Part part = part_of(shares, shape.tiles, shape.k_tiles, block);
      const int from = *free_at.begin();
      free_at.erase(free_at.begin());
      free_at.insert(from + part.end - part.begin);
    }
    const double last = static_cast<double>(*free_at.rbegin()) / shape.k_tiles;
    CHECK(last == doctest::Approx(most_tiles(shares, shape.tiles, shape.k_tiles, shape.sms)));
    CHECK(last <= (shape.tiles + shape.sms - 1) / shape.sms);
  });
}

TEST_CASE(
    "a sample has every part of the cut tiles that it touches, and only blocks of the launch") {
  for_each_shape([](const Shape& shape, const ShareOut& shares) {
    const std::vector<std::int64_t> sample = sample_of(shares, shape.tiles);
    REQUIRE(!sample.empty());
    CHECK(std::is_sorted(sample.begin(), sample.end()));
    CHECK(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
    CHECK(sample.front() >= 0);
    CHECK(sample.back() < blocks_of(shares, shape.tiles));
    std::multiset<int> parts_of;
    for (const std::int64_t block : sample) {
      if (block < shares.whole) continue;
      parts_of.insert(part_of(shares, shape.tiles, shape.k_tiles, static_cast<int>(block)).tile);
    }
    for (const int tile : parts_of) {
      CHECK(parts_of.count(tile) == static_cast<std::size_t>(shares.parts));
    }
    CHECK(parts_of.empty() == (shares.parts == 1));
  });
}

TEST_CASE("blocks that stay on their SM compute all tiles in turns") {
  Variant variant{};
  variant.BM = variant.BN = 128;
  variant.BK = 32;
  variant.sharing = Sharing::persistent;
  for (const int side : {0, 100, 1024, 4096, 4100}) {
    CAPTURE(side);
    const int tiles = tiles_of(variant, side, side);
    const ShareOut shares = share_out(variant, side, side, 64, kSms);
    const int blocks = blocks_of(shares, tiles);
    CHECK(blocks == std::min(tiles, kSms));
    CHECK(is_in_turns(shares, tiles) == (tiles > kSms));
    std::vector<std::int64_t> all(blocks);
    std::iota(all.begin(), all.end(), 0);
    CHECK(tiles_computed(shares, tiles, 2, all) == tiles);
    CHECK(floats_of_sums(shares, variant, tiles) == 0);
    if (tiles == 0) continue;
    CHECK(most_tiles(shares, tiles, 2, kSms) == tiles_computed(shares, tiles, 2, {0}));
    for (const std::int64_t block : sample_of(shares, tiles)) CHECK(block < blocks);
  }
  CHECK(blocks_of(share_out(variant, 512, 512, 64, 0), 16) == 16);
}

TEST_CASE("blocks compute as many tiles as their K tiles add up to") {
  const ShareOut shares{396, 2, 459};
  CHECK(tiles_computed(shares, 512, 512, {0, 1, 2}) == 3);
  CHECK(tiles_computed(shares, 512, 512, {396}) == doctest::Approx(459 / 512.0));
  CHECK(tiles_computed(shares, 512, 512, {396, 512}) == doctest::Approx(1));
  CHECK(tiles_computed(shares, 512, 512, {0, 198, 395, 396, 511, 512, 627}) == doctest::Approx(5));
}

}  // namespace model
