#include "pictures/sm_times.h"

#include <doctest/doctest.h>

#include <map>
#include <tuple>

#include "model/gpus.h"
#include "pictures/pictures.h"

namespace pictures {

TEST_CASE("if no tile is cut, the launch takes whole waves, and the last one leaves SMs idle") {
  const std::vector<SmTime> times = sm_times({5, 1, 4}, 5, 4, 3);
  REQUIRE(times.size() == 5);
  CHECK(end_of(times) == 8);
  CHECK(busy_sms(times, 3) == 3);
  CHECK(busy_sms(times, 4) == 2);
  CHECK(busy_sms(times, 8) == 0);
  CHECK(times[3].sm == 0);
  CHECK(times[3].begin == 4);
  CHECK(times[3].parts == 1);
}

TEST_CASE("a block goes to the SM that is free first") {
  // The first parts of two tiles, with 3 K tiles each, then the second parts, with one.
  const std::vector<SmTime> times = sm_times({0, 2, 3}, 2, 4, 3);
  REQUIRE(times.size() == 4);
  CHECK(times[2].sm == 2);
  CHECK(times[2].begin == 0);
  CHECK(times[2].end == 1);
  CHECK(times[3].sm == 2);
  CHECK(times[3].begin == 1);
  CHECK(times[3].tile == 1);
  CHECK(times[3].part == 1);
  CHECK(end_of(times) == 3);
}

TEST_CASE("every K tile of every tile is computed once, by an SM that does nothing else then") {
  for (const auto& [tiles, k_tiles, sms] :
       {std::tuple{512, 512, 132}, {20, 128, 132}, {133, 256, 132}, {60, 64, 132}, {7, 100, 3}}) {
    CAPTURE(tiles);
    const model::ShareOut shares = model::share_out(tiles, k_tiles, sms);
    std::map<int, int> computed;  // K tiles by tile
    std::map<int, int> free;      // when an SM is, by SM
    long long work = 0;
    for (const SmTime& one : sm_times(shares, tiles, k_tiles, sms)) {
      CHECK(one.begin >= free[one.sm]);
      CHECK(one.sm < sms);
      CHECK(one.end > one.begin);
      free[one.sm] = one.end;
      computed[one.tile] += one.end - one.begin;
      work += one.end - one.begin;
    }
    CHECK(static_cast<int>(computed.size()) == tiles);
    for (const auto& [tile, all] : computed) CHECK(all == k_tiles);
    const int end = end_of(sm_times(shares, tiles, k_tiles, sms));
    const int uncut = end_of(sm_times({tiles, 1, k_tiles}, tiles, k_tiles, sms));
    CHECK(end >= (work + sms - 1) / sms);
    CHECK(end <= uncut);
    if (shares.parts > 1) CHECK(end < uncut);
  }
}

TEST_CASE("a product that needs no cuts has no picture of them") {
  model::Variant variant{};
  variant.BM = 128;
  variant.BN = 256;
  variant.BK = 8;
  variant.sharing = model::Sharing::cut;
  const model::Gpu& gpu = *model::find_gpu("H200");
  const auto drawn = [&](int M, int N, int K) {
    const auto drawing = draw_sm_times(variant, gpu, M, N, K);
    return drawing ? drawing->finding : "";
  };
  CHECK(drawn(132 * 128, 256, 4096) == "");
  CHECK(drawn(4096, 4096, 4096).find("the 16 SMs that were idle") != std::string::npos);
  // One tile more than SMs: all take a part of the last one.
  CHECK(drawn(133 * 128, 256, 16384).find("the last tile has 128 parts") != std::string::npos);
  CHECK(drawn(1024, 1024, 4096).find("in 1 wave, in which 100 SMs are idle") != std::string::npos);
  CHECK(drawn(1024, 1024, 4096).find("each of the last 32 tiles has 4 parts") != std::string::npos);
  variant.sharing = model::Sharing::ordered;
  CHECK(drawn(4096, 4096, 4096) == "");
}

}  // namespace pictures
