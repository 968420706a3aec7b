#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lab/problem.h"
#include "model/stage.h"
#include "model/tile.h"
#include "testing/fuzz.h"
#include "testing/golden.h"
#include "testing/program.h"

namespace model {

namespace {

using testing::contains;

constexpr Named kNames[] = {{"K", 256}, {"BK", 8}, {"BN", 128}, {"threads", 256}, {"reads_C", 1}};

double value_of(const std::string& formula) {
  return evaluate(formula, kNames);
}

std::string complaint_about(const std::string& formula) {
  try {
    evaluate(formula, kNames);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("formulas have the usual precedence and associate to the left") {
  CHECK(value_of("2*K + reads_C") == 513);
  CHECK(value_of("1 + 2 * 3 - 4 / 8") == 6.5);
  CHECK(value_of("(1 + 2) * 3") == 9);
  CHECK(value_of("8 / 4 / 2") == 1);
  CHECK(value_of("8 - 4 - 2") == 2);
  CHECK(value_of("ceil(K / BK) * BK*BN / threads") == 128);
  CHECK(value_of("ceil((K+1)/BK)") == 33);
  CHECK(value_of("max(K/BK, 2*BN) + 1") == 257);
  CHECK(value_of("max(K, max(1, 2))") == 256);
  CHECK(value_of("min(K, 7, 2 + 6)") == 7);
  CHECK(value_of("  .5e1 ") == 5);
}

TEST_CASE("a minus sign may precede any factor") {
  CHECK(value_of("-K") == -256);
  CHECK(value_of("2 * -3") == -6);
  CHECK(value_of("2 - -3") == 5);
  CHECK(value_of("-(1 + 2) * 3") == -9);
  CHECK(value_of("-ceil(0.5)") == -1);
}

TEST_CASE("text that is not a formula is refused with the place, as in its golden file") {
  std::string text;
  for (const char* formula :
       {"2*L", "", "1 +", "(1 + 2", "1 2", "K)", "1 / (K - 256)", "ceil", "floor(1)", "1e999", ".",
        "0x10", "+1"}) {
    text += complaint_about(formula) + "\n";
  }
  CHECK(complaint_about(std::string("1\0", 2)) != "");
  testing::compare_with_golden("formulas", {{"complaints", text}});
}

TEST_CASE("brackets nest a hundred deep, and a million do not overflow the stack") {
  for (const std::string opening : {"(", "max("}) {
    const auto nested = [&](int depth) {
      std::string text;
      for (int i = 0; i < depth; ++i) text += opening;
      return text + "1" + std::string(depth, ')');
    };
    CHECK(value_of(nested(100)) == 1);
    CHECK(contains(complaint_about(nested(101)), "too many brackets"));
    CHECK(contains(complaint_about(nested(1000000)), "too many brackets"));
  }
  CHECK(value_of(std::string(1000000, '-') + "1") == 1);
  std::string side_by_side = "0";
  for (int i = 0; i < 1000; ++i) side_by_side += "+(1)";
  CHECK(value_of(side_by_side) == 1000);
}

namespace {

// Writes formulas by the grammar, and computes their values at the same time.
struct Writer {
  testing::Fuzz& fuzz;
  std::string text = "";
  bool divides_by_zero = false;
  int depth = 0;

  double sum() {
    double value = product();
    for (std::size_t more = fuzz.upto(3); more > 0; --more) {
      const bool plus = fuzz.one_in(2);
      text += plus ? "+" : " - ";
      const double term = product();
      value = plus ? value + term : value - term;
    }
    return value;
  }
  double product() {
    double value = factor();
    for (std::size_t more = fuzz.upto(3); more > 0; --more) {
      const bool times = fuzz.one_in(2);
      text += times ? "*" : " /";
      const double other = factor();
      if (!times) divides_by_zero = divides_by_zero || other == 0;
      value = times ? value * other : value / other;
    }
    return value;
  }
  double factor() {
    if (fuzz.one_in(8)) {
      text += "-";
      return -factor();
    }
    if (++depth < 5 && fuzz.one_in(3)) {
      const bool up = fuzz.one_in(2);
      text += up ? "ceil(" : "( ";
      const double value = sum();
      text += ")";
      return up ? std::ceil(value) : value;
    }
    if (fuzz.one_in(2)) {
      const Named& name = fuzz.one_of(kNames);
      text += name.name;
      return name.value;
    }
    const double value = static_cast<double>(fuzz.upto(2000)) / 8;
    text += text::shortest(value);
    return value;
  }
};

}  // namespace

TEST_CASE("any formula by the grammar has the value that its writer computed") {
  testing::Fuzz fuzz({""}, {""});
  for (int i = 0; i < testing::fuzz_count(); ++i) {
    Writer writer{fuzz};
    const double value = writer.sum();
    if (writer.divides_by_zero) {
      CHECK_MESSAGE(contains(complaint_about(writer.text), "division by zero"), writer.text);
    } else if (value_of(writer.text) != value) {
      FAIL_CHECK(writer.text, " should be ", value);
    }
  }
}

TEST_CASE("any text is evaluated as a formula, or refused in one sentence") {
  testing::Fuzz fuzz(
      {"2*K + reads_C", "ceil(K / BK) * BK*BN / threads", "-(1 + 2) * 3", ".5e1", "((1))", "1e300"},
      {"ceil(", "(", ")", "K", "BK", "-", "1e", "1e999", "0", "/0", "0x1", "_", "\x1b[31m", "é",
       std::string(101, '('), "nan", "inf"});
  testing::fuzz<std::invalid_argument>([&] { return fuzz.next(); }, value_of);
}

namespace {

constexpr int kSms = 132;  // of an H200

// With the policy of the lesson's balanced stage.
Variant cutting(int BM, int BN, int BK) {
  Variant variant{};
  variant.BM = BM, variant.BN = BN, variant.BK = BK;
  variant.sharing = Sharing::ordered;
  variant.share_out = find_stage(stage_table_plain.stages, 11)->variants[0].share_out;
  return variant;
}

ShareOut share_out(int tiles, int k_tiles, int sms) {
  return share_out(cutting(1, 1, 1), tiles, 1, k_tiles, sms);
}

int cut_tiles(const ShareOut& shares, int tiles) {
  return tiles - shares.whole;
}

// What a block computes, by the numbering of ShareOut: K tiles [begin, end) of a tile of C.
struct SliceOfK {
  int tile, begin, end;
};

SliceOfK slice_of(const ShareOut& shares, int tiles, int k_tiles, int block) {
  if (block < shares.whole) return {block, 0, k_tiles};
  const int behind = block - shares.whole, cut = cut_tiles(shares, tiles);
  const int begin = behind / cut * shares.depth;
  return {shares.whole + behind % cut, begin, std::min(k_tiles, begin + shares.depth)};
}

struct Tiles {
  int tiles, k_tiles, sms;
};

std::ostream& operator<<(std::ostream& out, const Tiles& s) {
  return out << s.tiles << " tiles of " << s.k_tiles << " K tiles on " << s.sms << " SMs";
}

std::vector<Tiles> random_shapes() {
  std::mt19937 random(11);
  const auto from_1_to = [&](unsigned most) { return static_cast<int>(1 + random() % most); };
  std::vector<Tiles> shapes;
  for (int i = 0; i < 300; ++i) shapes.push_back({from_1_to(900), from_1_to(600), from_1_to(160)});
  // Few tiles, so that a tile has many slices.
  for (int i = 0; i < 300; ++i) shapes.push_back({from_1_to(9), from_1_to(2000), from_1_to(160)});
  return shapes;
}

template <class Visit>
void for_each_shape(Visit visit) {
  int cut = 0;
  for (const Tiles& shape : random_shapes()) {
    CAPTURE(shape);
    const ShareOut shares = share_out(shape.tiles, shape.k_tiles, shape.sms);
    cut += shares.slices > 1;
    visit(shape, shares);
  }
  CHECK(cut > 200);  // the shapes are not all without cuts
}

}  // namespace

TEST_CASE("no tile is cut if every SM gets equally many, or if there are no SMs to share among") {
  for (const Tiles& shape : {Tiles{132, 512, kSms}, {528, 512, kSms}, {512, 512, 0}, {7, 900, 1}}) {
    CAPTURE(shape);
    const ShareOut shares = share_out(shape.tiles, shape.k_tiles, shape.sms);
    CHECK(shares.whole == shape.tiles);
    CHECK(shares.slices == 1);
    CHECK(shares.depth == shape.k_tiles);
    CHECK(blocks_of(shares, shape.tiles) == shape.tiles);
  }
}

TEST_CASE("no tile is cut if that saves less than 16 K tiles") {
  CHECK(share_out(1, 16, 2).slices == 1);
  CHECK(share_out(1, 31, 2).slices == 1);
  CHECK(share_out(1, 32, 2).slices == 2);
  CHECK(share_out(131, 512, kSms).slices == 1);  // one SM is idle, and nobody would be done earlier
}

TEST_CASE("at 4096 cubed on an H200, 116 tiles of the last wave are cut in two slices each") {
  Variant variant = cutting(128, 256, 8);
  const int tiles = tiles_of(variant, 4096, 4096);
  const ShareOut shares = share_out(variant, 4096, 4096, 4096, kSms);
  CHECK(tiles == 512);
  CHECK(shares.whole == 396);
  CHECK(shares.slices == 2);
  CHECK(shares.depth == 459);
  CHECK(blocks_of(shares, tiles) == 628);
  CHECK(sample_of(shares, tiles) == std::vector<std::int64_t>{0, 511, 627});
  variant.share_out = nullptr;
  CHECK(share_out(variant, 4096, 4096, 4096, kSms).slices == 1);
}

TEST_CASE("a product without K has tiles, and none of them is cut") {
  const Variant variant = cutting(64, 64, 8);
  const ShareOut shares = share_out(variant, 65, 64, 0, kSms);
  CHECK(shares.whole == 2);
  CHECK(shares.slices == 1);
  CHECK(shares.depth == 1);
}

TEST_CASE("every K tile of every tile belongs to exactly one block, and no block is empty") {
  for_each_shape([](const Tiles& shape, const ShareOut& shares) {
    std::vector<std::vector<std::pair<int, int>>> ranges(shape.tiles);
    for (int block = 0; block < blocks_of(shares, shape.tiles); ++block) {
      const SliceOfK slice = slice_of(shares, shape.tiles, shape.k_tiles, block);
      const bool is_within = slice.tile < shape.tiles && slice.begin < slice.end;
      if (!is_within)
        FAIL("block ", block, " has tile ", slice.tile, " from ", slice.begin, " to ", slice.end);
      ranges[slice.tile].push_back({slice.begin, slice.end});
    }
    for (const auto& of_tile : ranges) {  // already in the order of K
      int end = 0;
      bool meet = true;
      for (const auto& [begin, part_end] : of_tile)
        meet = meet && begin == std::exchange(end, part_end);
      if (!meet || end != shape.k_tiles)
        FAIL_CHECK("the slices of a tile do not meet, or end at ", end);
    }
  });
}

TEST_CASE("all SMs get equally many whole tiles, and the sums fill at most two tiles per SM") {
  for_each_shape([](const Tiles& shape, const ShareOut& shares) {
    const int cut = cut_tiles(shares, shape.tiles);
    if (shares.slices > 1) {
      CHECK(shares.whole % shape.sms == 0);
      CHECK(cut < shape.sms);
    } else {
      CHECK(cut == 0);
    }
    CHECK(cut * shares.slices <= 2 * shape.sms);
  });
}

// Simulates the launch: a block starts on the SM that is free first.
TEST_CASE("the last SM is done when the rule says, and a cut never makes it later") {
  for_each_shape([](const Tiles& shape, const ShareOut& shares) {
    std::multiset<int> free_at;
    for (int sm = 0; sm < shape.sms; ++sm) free_at.insert(0);
    for (int block = 0; block < blocks_of(shares, shape.tiles); ++block) {
      const SliceOfK slice = slice_of(shares, shape.tiles, shape.k_tiles, block);
      const int from = *free_at.begin();
      free_at.erase(free_at.begin());
      free_at.insert(from + slice.end - slice.begin);
    }
    const double last = static_cast<double>(*free_at.rbegin()) / shape.k_tiles;
    CHECK(last == doctest::Approx(most_tiles(shares, shape.tiles, shape.k_tiles, shape.sms)));
    CHECK(last <= (shape.tiles + shape.sms - 1) / shape.sms);
  });
}

TEST_CASE(
    "a sample has every slice of the cut tiles that it touches, and only blocks of the launch") {
  for_each_shape([](const Tiles& shape, const ShareOut& shares) {
    const std::vector<std::int64_t> sample = sample_of(shares, shape.tiles);
    REQUIRE(!sample.empty());
    CHECK(std::is_sorted(sample.begin(), sample.end()));
    CHECK(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
    CHECK(sample.front() >= 0);
    CHECK(sample.back() < blocks_of(shares, shape.tiles));
    std::multiset<int> slices_of;
    for (const std::int64_t block : sample) {
      if (block < shares.whole) continue;
      slices_of.insert(slice_of(shares, shape.tiles, shape.k_tiles, static_cast<int>(block)).tile);
    }
    for (const int tile : slices_of) {
      CHECK(slices_of.count(tile) == static_cast<std::size_t>(shares.slices));
    }
    CHECK(slices_of.empty() == (shares.slices == 1));
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

namespace {

Variant tile(const char* name, int BM, int BN, bool for_small) {
  Variant variant{};
  variant.name = name;
  variant.BM = BM;
  variant.BN = BN;
  variant.for_small = for_small;
  return variant;
}

// The third variant has the smallest tile but is not marked.
const Stage kStage{
    .number = 1,
    .name = "",
    .lesson = {},
    .variants = {
        tile("128x128", 128, 128, false), tile("64x128", 64, 128, true), tile("8x8", 8, 8, false),
        tile("64x64", 64, 64, true)}};

std::string suited(const char* gpu, int M, int N) {
  return suited_variant(kStage, *find_gpu(gpu), M, N).name;
}

// Stages of the lesson that have kernels.
std::vector<const Stage*> stages() {
  std::vector<const Stage*> all;
  for (const Stage& stage : stage_table_plain.stages) {
    if (!stage.variants.empty()) all.push_back(&stage);
  }
  return all;
}

template <class Visit>
void for_each_gpu_and_stage(Visit visit) {
  for (const Gpu& gpu : known_gpus()) {
    for (const Stage* stage : stages()) {
      CAPTURE(gpu.name);
      CAPTURE(stage->number);
      visit(gpu, *stage);
    }
  }
}

}  // namespace

TEST_CASE("the busiest SM computes whole tiles, and one more than its share if there is a rest") {
  const Gpu& h200 = *find_gpu("H200");  // 132 SMs
  CHECK(spread(kStage.variants[0], h200, 1408, 1408).tiles == 121);
  CHECK(spread(kStage.variants[0], h200, 1408, 1408).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1409, 1408).tiles == 132);
  CHECK(spread(kStage.variants[0], h200, 1409, 1408).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1409, 1409).results == 2 * 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 1, 1).results == 128 * 128);
  CHECK(spread(kStage.variants[0], h200, 2147483647, 2147483647).tiles == 1LL << 48);
}

TEST_CASE(
    "a smaller tile is chosen where the busiest SM then computes at most 3/4 of the results") {
  // 64 tiles of 128 x 128: 68 SMs of an H200 would have none. 128 of 64 x 128 are one per SM, and
  // 256 of 64 x 64 are two for some, which is as much.
  CHECK(suited("H200", 1024, 1024) == "64x128");
  CHECK(suited("H200", 256, 256) == "64x64");
  // One tile per SM, 121 of 132: 4 small tiles per SM would be as much.
  CHECK(suited("H200", 1408, 1408) == "128x128");
  // 144 tiles: 12 SMs would compute two. Of 288 tiles the busiest computes three, which is 3/4.
  CHECK(suited("H200", 1536, 1536) == "64x128");
  // 82 SMs: 64 tiles leave 18 idle, but of 128 and 256 smaller ones the busiest computes as much.
  CHECK(suited("RTX 3090", 1024, 1024) == "128x128");
  // A single row of C: the tiles' rows are wasted alike, and their columns decide.
  CHECK(suited("H200", 1, 14336) == "64x128");
  CHECK(suited("H200", 1, 128) == "64x64");
}

TEST_CASE("on tensor cores, the loads of small tiles count, too") {
  // H200: 1024 multiply-adds of tf32 per SM and clock, and 64 bytes. In one step of K, a tile of
  // 128 x 128 takes 16 clocks and 16 for its loads, and one of 64 x 64 takes 4 and 8.
  const Gpu& h200 = *find_gpu("H200");
  Stage stage = kStage;
  for (Variant& variant : stage.variants) {
    variant.multiplier = Multiplier::wgmma_tf32;
    variant.pipeline = 3;
  }
  const auto suited = [&](int side) {
    return std::string(suited_variant(stage, h200, side, side).name);
  };
  CHECK(
      spread(stage.variants[0], h200, 1024, 1024).clocks ==
      doctest::Approx(128 * 128 / 1024.0 + 256 * 4 / (l2_bytes_per_clock(h200) / 132)));
  CHECK(suited(512) == "64x64");    // one tile instead of one
  CHECK(suited(1024) == "64x128");  // 128 tiles, one per SM; two of 64 x 64 would load more
  CHECK(suited(1536) == "128x128");
}

// Measured on an H200 with stage 16: 128x128x32 is 1.30 times as fast as 64x64x32 at 1024 x 1024 x
// 1024, and 0.84 times at 512, where no SM gets two tiles. 192x128x32 is 1.27 times as fast as
// 256x128x32 at 3072, where both are three tiles for each SM, and slower at 2048, 4096 and 8192.
TEST_CASE("stages 15 and 16 run the tile that is fastest on an H200 at each size") {
  for (const int number : {15, 16}) {
    CAPTURE(number);
    const Stage& stage = *find_stage(stage_table_plain.stages, number);
    const auto suited = [&](int side) {
      return std::string(suited_variant(stage, *find_gpu("H200"), side, side).name);
    };
    CHECK(suited(512) == "64x64x32");
    CHECK(suited(768) == "128x128x32");
    CHECK(suited(1024) == "128x128x32");
    CHECK(suited(2048) == "256x128x32");
    CHECK(suited(3072) == "192x128x32");
    CHECK(suited(4096) == "256x128x32");
    CHECK(suited(8192) == "256x128x32");
  }
}

TEST_CASE("on tensor cores, a much smaller tile must save more") {
  const Gpu& h200 = *find_gpu("H200");
  const auto suited_of = [&](Variant large, Variant small, double share) {
    Stage stage{.number = 1, .name = "", .lesson = {}, .variants = {large, small}};
    for (Variant& variant : stage.variants) variant.multiplier = Multiplier::wgmma_tf32;
    const auto clocks = [&](int i) { return spread(stage.variants[i], h200, 1024, 1024).clocks; };
    CHECK(clocks(1) == doctest::Approx(share * clocks(0)).epsilon(0.005));
    return std::string(suited_variant(stage, h200, 1024, 1024).name);
  };
  // One tile for the busiest SM in place of one, and two in place of one.
  CHECK(
      suited_of(tile("256x128", 256, 128, false), tile("192x128", 192, 128, true), 0.786) ==
      "192x128");
  CHECK(
      suited_of(tile("128x128", 128, 128, false), tile("64x64", 64, 64, true), 0.75) == "128x128");
}

TEST_CASE("at equal results, a stage without a pipeline gets more warps if it has fewer than 12") {
  Stage stage = kStage;
  stage.variants[0].block_x = stage.variants[0].block_y = 8;  // 2 warps
  stage.variants[1].block_x = 32, stage.variants[1].block_y = 8;
  // One tile per SM on 121 of 132, or up to two of half its size, which would have 16 warps.
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("64x128"));
  stage.variants[0].pipeline = 3;
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("128x128"));
  stage.variants[0].pipeline = 0;
  stage.variants[0].block_y = 48;  // 12 warps
  CHECK(suited_variant(stage, *find_gpu("H200"), 1408, 1408).name == std::string("128x128"));
}

TEST_CASE("an empty C and the paper GPU get the first variant") {
  CHECK(suited("H200", 0, 256) == "128x128");
  CHECK(suited("H200", 256, 0) == "128x128");
  CHECK(suited("paper", 256, 256) == "128x128");
}

TEST_CASE("a variant whose shared memory a block cannot have on that GPU is not chosen") {
  Stage stage = kStage;
  const Gpu& rtx = *find_gpu("RTX 3090");  // 99 KB
  stage.variants[0].shared_bytes = 100 * 1024;
  stage.variants[3].shared_bytes = 100 * 1024;
  CHECK(suited_variant(stage, *find_gpu("H200"), 256, 256).name == std::string("64x64"));
  CHECK(first_variant(stage, rtx).name == std::string("64x128"));
  CHECK(suited_variant(stage, rtx, 8192, 8192).name == std::string("64x128"));
  CHECK(suited_variant(stage, rtx, 256, 256).name == std::string("64x128"));
  for (Variant& variant : stage.variants) variant.shared_bytes = 300 * 1024;
  CHECK(first_variant(stage, rtx).name == std::string("128x128"));
}

TEST_CASE("every GPU has room for a variant of every stage, if not for parts from stage 18 on") {
  for_each_gpu_and_stage([](const Gpu& gpu, const Stage& stage) {
    const bool has_room = first_variant(stage, gpu).shared_bytes <= gpu.smem_bytes_per_block;
    const bool is_of_parts = multiplies_parts(stage.variants.front());
    CHECK((has_room || (is_of_parts && stage.needs.only_there && !is_traceable(stage, gpu))));
    const int needed = (stage.variants.front().BM + 128) * 512;  // 4 places of such lines
    if (is_of_parts) CHECK(has_room == (gpu.smem_bytes_per_block >= needed));
  });
}

TEST_CASE("a stage says what a GPU lacks to run its kernels") {
  Stage stage = kStage;
  const Gpu &t4 = *find_gpu("T4"), &a100 = *find_gpu("A100"), &paper = *find_gpu("paper");
  CHECK(why_not_run(stage, t4).empty());
  CHECK(is_traceable(stage, paper));
  stage.needs.instructions = 80;
  CHECK(why_not_run(stage, t4) == "needs sm_80");
  CHECK(is_traceable(stage, t4));
  CHECK(why_not_run(stage, a100).empty());
  CHECK(why_not_run(stage, paper) == "needs warps of 32");
  CHECK(!is_traceable(stage, paper));
  stage.needs.instructions = 90;
  stage.needs.only_there = true;
  CHECK(why_not_run(stage, a100) == "needs sm_90a");
  CHECK(why_not_run(stage, *find_gpu("H200")).empty());
  CHECK(why_not_run(stage, *find_gpu("B200")) == "needs sm_90a");
  stage.needs = kTma;
  CHECK(why_not_run(stage, a100) == "needs sm_90");
  CHECK(why_not_run(stage, *find_gpu("B200")).empty());
  for (Variant& variant : stage.variants) variant.shared_bytes = 192 * 1024;
  CHECK(why_not_run(stage, a100) == "needs 192 KB SMEM");
  CHECK(!is_traceable(stage, a100));
  CHECK(is_traceable(stage, *find_gpu("H200")));
}

TEST_CASE("the kernels that need a copy engine have maps") {
  for (const Stage* stage : stages()) {
    CAPTURE(stage->number);
    for (const Variant& variant : stage->variants) {
      CAPTURE(std::string(variant.name));
      if (variant.for_few_results) continue;  // it can be an earlier stage's
      CHECK(variant.has_maps == (stage->needs.instructions >= 90));
    }
  }
}

TEST_CASE("beside a variant stands the one of its name, or the one that suits") {
  const Gpu& h200 = *find_gpu("H200");
  const auto beside = [&](const char* name) {
    return std::string(comparable_variant(tile(name, 1, 1, false), kStage, h200, 256, 256).name);
  };
  CHECK(beside("128x128") == "128x128");
  CHECK(beside("8x8") == "8x8");
  CHECK(beside("32x32") == "64x64");
}

TEST_CASE(
    "every stage runs its first variant at 4096 and 8192, and with three tiles per SM or more") {
  for_each_gpu_and_stage([](const Gpu& gpu, const Stage& stage) {
    const Variant& first = first_variant(stage, gpu);
    CHECK(&suited_variant(stage, gpu, 8192, 4096) == &first);
    for (int side = 256; side <= 8192; side += 256) {
      CAPTURE(side);
      const bool is_large = side == 4096 || side == 8192;
      if (is_large || spread(first, gpu, side, side).tiles >= 3LL * gpu.sms)
        CHECK(&suited_variant(stage, gpu, side, side) == &first);
    }
  });
}

TEST_CASE("no stage runs a variant that is not marked for small products, and some run one") {
  int small = 0;
  for_each_gpu_and_stage([&](const Gpu& gpu, const Stage& stage) {
    for (const int M : {1, 64, 255, 512, 1024, 1500, 3000}) {
      for (const int N : {1, 64, 255, 512, 1024, 1500, 3000}) {
        const Variant* variant = &suited_variant(stage, gpu, M, N);
        if (variant == &first_variant(stage, gpu)) continue;
        CHECK(variant->for_small);
        ++small;
      }
    }
  });
  CHECK(small > 0);
}

TEST_CASE("a stage's variants for small products have smaller tiles, or more warps for one tile") {
  for (const Stage* stage : stages()) {
    CAPTURE(stage->number);
    int area = stage->variants.front().BM * stage->variants.front().BN;
    int threads = 0;
    CHECK(!stage->variants.front().for_small);
    for (const Variant& variant : stage->variants) {
      if (!variant.for_small) continue;
      CAPTURE(std::string(variant.name));
      const bool same_area = variant.BM * variant.BN == area;
      CHECK((variant.BM * variant.BN < area || (same_area && variant.threads() > threads)));
      area = variant.BM * variant.BN;
      threads = variant.threads();
    }
  }
}

TEST_CASE("twice the rows and columns never get a smaller tile") {
  const auto check = [](const Gpu& gpu, const Stage& stage) {
    if (!why_not_run(stage, gpu).empty()) return;
    for (int side = 64; side <= 4096; side += 64) {
      CAPTURE(side);
      CHECK(
          &suited_variant(stage, gpu, 2 * side, 2 * side) <=
          &suited_variant(stage, gpu, side, side));
    }
  };
  for_each_gpu_and_stage(check);
  for (const Gpu& gpu : known_gpus()) check(gpu, kStage);
}

}  // namespace model
