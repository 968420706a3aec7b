#include "model/warp_geometry.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "model/async_copy.h"
#include "model/sectors.h"
#include "model/wavefronts.h"

namespace model {

namespace {

// The rules of shared memory in numbers of the paper GPU, written out.
constexpr int kLanes = 4, kPaperBanks = 8;

bool equal_at(const WarpAccess& access, int distance) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int other = lane ^ distance;
    const bool both = (access.active >> lane & 1u) != 0 && (access.active >> other & 1u) != 0;
    if (both && access.address[lane] != access.address[other]) return false;
  }
  return true;
}

int wavefronts_by_hand(const WarpAccess& access, bool loads) {
  int group = access.bytes == 16 ? 2 : kLanes;  // 2 x 16 bytes fill 8 banks of 4
  if (loads && (equal_at(access, 1) || equal_at(access, 2))) group = kLanes;
  int wavefronts = 0;
  for (int first = 0; first < kLanes; first += group) {
    std::vector<std::set<std::uint64_t>> words(kPaperBanks);
    for (int lane = first; lane < first + group; ++lane) {
      if ((access.active >> lane & 1u) == 0) continue;
      for (int byte = 0; byte < std::max(access.bytes, 4); byte += 4) {
        const std::uint64_t word = (access.address[lane] + byte) / 4;
        words[word % kPaperBanks].insert(word);
      }
    }
    std::size_t most = 0;
    for (const std::set<std::uint64_t>& of_bank : words) most = std::max(most, of_bank.size());
    wavefronts += static_cast<int>(most);
  }
  return wavefronts;
}

int blocks_touched(const WarpAccess& access, int block_bytes) {
  std::set<std::uint64_t> touched;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((access.active >> lane & 1u) == 0) continue;
    for (int byte = 0; byte < access.bytes; ++byte) {
      touched.insert((access.address[lane] + byte) / block_bytes);
    }
  }
  return static_cast<int>(touched.size());
}

// As many wavefronts as the most lanes that stand in one lane's way, itself included.
int narrow_copy_by_hand(const WarpAccess& to, const WarpAccess& from) {
  const int banks = 4 * kPaperBanks / to.bytes;
  const auto bank = [&](const WarpAccess& access, int lane) {
    return access.address[lane] / access.bytes % banks;
  };
  int most = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((to.active >> lane & 1u) == 0) continue;
    int in_the_way = 0;
    for (int other = 0; other < kLanes; ++other) {
      if ((to.active >> other & 1u) == 0) continue;
      in_the_way += bank(from, other) == bank(from, lane) || bank(to, other) == bank(to, lane);
    }
    most = std::max(most, in_the_way);
  }
  return most;
}

WarpAccess random_access(int bytes, std::mt19937& random) {
  WarpAccess access{
      .active = static_cast<std::uint32_t>(random() % 15 + 1),
      .bytes = bytes,
      .address = {},
      .warp = kPaperWarp};
  const unsigned span = 1u << (1 + random() % 7);
  for (int lane = 0; lane < kLanes; ++lane) {
    access.address[lane] = std::uint64_t{random() % span} * bytes;
    if (lane > 0 && random() % 3 == 0) access.address[lane] = access.address[lane - 1];
  }
  return access;
}

WarpAccess of_lanes(int bytes, std::vector<std::uint64_t> words) {
  WarpAccess access{.active = 0, .bytes = bytes, .address = {}, .warp = kPaperWarp};
  for (std::size_t lane = 0; lane < words.size(); ++lane) {
    access.active |= 1u << lane;
    access.address[lane] = 4 * words[lane];
  }
  return access;
}

}  // namespace

TEST_CASE("random accesses on the paper GPU cost what counting by hand says") {
  std::mt19937 random(10);
  for (int i = 0; i < 20'000; ++i) {
    const int bytes = 1 << random() % 5;
    const WarpAccess access = random_access(bytes, random);
    CAPTURE(bytes);
    CAPTURE(access.active);
    CAPTURE(access.address[0]);
    CAPTURE(access.address[1]);
    CAPTURE(access.address[2]);
    CAPTURE(access.address[3]);
    REQUIRE(global_sectors(access) == blocks_touched(access, 16));
    REQUIRE(global_lines(access) == blocks_touched(access, 64));
    REQUIRE(shared_load(access).wavefronts == wavefronts_by_hand(access, true));
    REQUIRE(shared_store(access).wavefronts == wavefronts_by_hand(access, false));
  }
}

TEST_CASE("random copies of 4 and 8 bytes on the paper GPU wait as counting by hand says") {
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const int bytes = random() % 2 == 0 ? 4 : 8;
    WarpAccess to = random_access(bytes, random), from = random_access(bytes, random);
    from.active = to.active;
    const AsyncCopyCost cost = async_copy(to, from);
    REQUIRE(cost.sectors == blocks_touched(from, 16));
    REQUIRE(cost.shared.wavefronts == narrow_copy_by_hand(to, from));
  }
}

TEST_CASE("a copy of 16 bytes on the paper GPU moves two sectors in one wavefront") {
  const WarpAccess row = of_lanes(16, {0, 4, 8, 12});
  CHECK(async_copy(row, row).sectors == 4);
  CHECK(async_copy(row, row).shared.wavefronts == 2);
  CHECK(async_copy(row, row).shared.bank_conflicts() == 0);
  // Lanes two rows of the banks apart share their banks, and their lines.
  const WarpAccess apart = of_lanes(16, {0, 8, 16, 24});
  CHECK(async_copy(apart, row).shared.wavefronts == 4);
}

TEST_CASE("the rules of a geometry: how many lanes are served at a time") {
  for (const auto& [bytes, real, paper] : {std::tuple{4, 32, 4}, {8, 16, 4}, {16, 8, 2}}) {
    CHECK(kGpuWarp.lanes_a_group(bytes) == real);
    CHECK(kPaperWarp.lanes_a_group(bytes) == paper);
  }
  CHECK(shared_load(of_lanes(16, {0, 4, 8, 12})).wavefronts == 2);
  CHECK(shared_load(of_lanes(16, {0, 0, 4, 4})).wavefronts == 1);  // neighbours want the same
  CHECK(shared_store(of_lanes(16, {0, 0, 4, 4})).wavefronts == 2);
}

TEST_CASE("the threads of a block are dealt out to warps in their order") {
  for (const WarpGeometry geometry : {kGpuWarp, kPaperWarp}) {
    for (int thread = 0; thread < 100; ++thread) {
      const int warp = geometry.warp_of(thread), lane = geometry.lane_of(thread);
      CHECK(warp == thread / geometry.lanes);
      CHECK(lane == thread % geometry.lanes);
      CHECK(geometry.thread_of(warp, lane) == thread);
      CHECK(geometry.warps_of(thread + 1) == warp + 1);
    }
  }
}

}  // namespace model
