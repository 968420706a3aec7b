#include "model/warp_access.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/async_copy.h"
#include "model/sectors.h"
#include "model/wavefronts.h"
#include "testing/csv.h"

namespace model {

namespace {

using Row = std::vector<std::string>;

// Lane offsets from the files; -1 for a lane that does not take part.
WarpAccess read_access(int bytes, const std::string& offsets) {
  WarpAccess access{.active = 0, .bytes = bytes, .address = {}};
  std::istringstream stream(offsets);
  int lane = 0;
  for (long long offset; stream >> offset; ++lane) {
    REQUIRE(lane < kWarpSize);
    if (offset < 0) continue;
    access.active |= std::uint32_t{1} << lane;
    access.address[lane] = offset;
  }
  REQUIRE(lane == kWarpSize);
  return access;
}

WarpAccess full_warp(int bytes, int stride_bytes) {
  WarpAccess access{.active = ~std::uint32_t{0}, .bytes = bytes, .address = {}};
  for (int lane = 0; lane < kWarpSize; ++lane) access.address[lane] = lane * stride_bytes;
  return access;
}

// A warp with random active lanes, at aligned addresses that often coincide.
WarpAccess random_warp(int bytes, std::mt19937& random) {
  WarpAccess access{
      .active = static_cast<std::uint32_t>(random() | 1), .bytes = bytes, .address = {}};
  if (random() % 2) access.active = ~std::uint32_t{0};
  const unsigned span = 1u << (3 + random() % 8);
  const bool in_pairs = random() % 2;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    access.address[lane] = std::uint64_t{random() % span} * bytes;
    if (in_pairs && lane % 2) access.address[lane] = access.address[lane - 1];
  }
  return access;
}

// The wavefronts serve each of `lanes` once, and in each wavefront a bank has one word.
void check_turns(const Wavefronts& wavefronts, const WarpAccess& access, std::uint32_t lanes) {
  std::uint32_t served = 0;
  int group = 0;
  for (const Wavefront& wavefront : wavefronts) {
    CHECK(wavefront.lanes != 0);
    CHECK((wavefront.lanes & served) == 0);
    CHECK(wavefront.group >= group);
    served |= wavefront.lanes;
    group = wavefront.group;
    std::array<std::vector<std::uint64_t>, kBanks> words;
    for_each_lane(wavefront.lanes, [&](int lane) {
      for_each_word(access, lane, [&](std::uint64_t word) {
        std::vector<std::uint64_t>& of_bank = words[word % kBanks];
        if (std::find(of_bank.begin(), of_bank.end(), word) == of_bank.end()) {
          of_bank.push_back(word);
        }
      });
    });
    for (const std::vector<std::uint64_t>& of_bank : words) CHECK(of_bank.size() <= 1);
    const auto at_banks = lanes_at_banks(access, wavefront.lanes);
    for (int bank = 0; bank < kBanks; ++bank) {
      CHECK((at_banks[bank] != 0) == !words[bank].empty());
    }
  }
  CHECK(served == lanes);
}

// The sectors are in ascending order, each with the lanes that access it.
void check_sectors(const Sectors& sectors, const WarpAccess& access) {
  std::uint32_t touching = 0;
  for (const Sector& sector : sectors) {
    CHECK(sector.lanes != 0);
    CHECK(sector.number >= sectors[0].number);
    for_each_lane(sector.lanes, [&](int lane) {
      CHECK(access.address[lane] / kSectorBytes == sector.number);
    });
    touching |= sector.lanes;
    std::uint32_t at_words = 0;
    for (const std::uint32_t lanes : lanes_at_words(access, sector)) at_words |= lanes;
    CHECK(at_words == sector.lanes);
  }
  CHECK(touching == access.active);
}

WarpAccess moved(WarpAccess access, std::uint64_t bytes) {
  for (std::uint64_t& address : access.address) address += bytes;
  return access;
}

}  // namespace

TEST_CASE("warp accesses cost what the H200's counters say, row by row") {
  const auto rows = testing::read_csv("src/model/data/h200_warp_accesses.csv", 8);
  CHECK(rows.size() == 221);
  for (const Row& row : rows) {
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    CAPTURE(row[2]);
    const WarpAccess access = read_access(std::stoi(row[1]), row[7]);
    if (row[0] == "ldg" || row[0] == "stg") {
      CHECK(global_sectors(access) == std::stoi(row[4]));
      check_sectors(sectors(access), access);
    } else {
      REQUIRE((row[0] == "lds" || row[0] == "sts"));
      const SharedCost cost = row[0] == "lds" ? shared_load(access) : shared_store(access);
      const Wavefronts wavefronts =
          row[0] == "lds" ? wavefronts_of_load(access) : wavefronts_of_store(access);
      CHECK(static_cast<int>(wavefronts.size()) == std::stoi(row[5]));
      check_turns(wavefronts, access, access.active);
      CHECK(cost.wavefronts == std::stoi(row[5]));
      CHECK(cost.bank_conflicts() == std::stoi(row[6]));
    }
  }
}

TEST_CASE("ldmatrix and cp.async cost what the H200's counters say, row by row") {
  const auto rows = testing::read_csv("src/model/data/h200_ldmatrix_cpasync.csv", 6);
  CHECK(rows.size() == 99);
  for (const Row& row : rows) {
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    CAPTURE(row[2]);
    const int width = std::stoi(row[1]);
    const bool is_ldmatrix = row[0].starts_with("ldmatrix");
    REQUIRE((is_ldmatrix || row[0] == "cp.async"));
    const WarpAccess access = read_access(is_ldmatrix ? 16 : width, row[5]);
    const SharedCost cost =
        is_ldmatrix ? ldmatrix(access, width) : async_copy(access, full_warp(width, width)).shared;
    CHECK(cost.wavefronts == std::stoi(row[3]));
    if (is_ldmatrix) {
      WarpAccess of_matrices = access;
      of_matrices.matrices = width;
      CHECK(shared_load(of_matrices).wavefronts == cost.wavefronts);
      const std::uint32_t rows_given = ~std::uint32_t{0} >> (kWarpSize - 8 * width);
      check_turns(wavefronts_of_ldmatrix(access, width), access, access.active & rows_given);
    }
    if (!row[4].empty()) CHECK(cost.bank_conflicts() == std::stoi(row[4]));
  }
}

TEST_CASE("cp.async from strided, permuted and predicated sources costs what the counters say") {
  const auto rows = testing::read_csv("src/model/data/h200_cpasync_strided.csv", 7);
  CHECK(rows.size() == 873);
  for (const Row& row : rows) {
    CAPTURE(row[1]);
    CAPTURE(row[2]);
    const int width = std::stoi(row[1]);
    const WarpAccess to = read_access(width, row[5]), from = read_access(width, row[6]);
    const AsyncCopyCost cost = async_copy(to, from);
    CHECK(cost.shared.wavefronts == std::stoi(row[3]));
    CHECK(cost.sectors == std::stoi(row[4]));
    const AsyncCopySplit split = split_async_copy(to, from);
    CHECK(static_cast<int>(split.wavefronts.size()) == std::stoi(row[3]));
    CHECK(static_cast<int>(split.sectors.size()) == std::stoi(row[4]));
    check_turns(split.wavefronts, to, to.active);
    check_sectors(split.sectors, from);
  }
}

TEST_CASE("a full warp with 4, 8 and 16 bytes per lane needs at least 4, 8 and 16 sectors") {
  for (const int bytes : {4, 8, 16}) {
    CHECK(ideal_global_sectors(full_warp(bytes, 1024)) == bytes);
    CHECK(global_sectors(full_warp(bytes, bytes)) == bytes);
  }
  WarpAccess nine_lanes = full_warp(4, 4);
  nine_lanes.active = 0x1ff;
  CHECK(ideal_global_sectors(nine_lanes) == 2);
}

TEST_CASE("the ideal holds the distinct bytes of a warp, and no access beats it") {
  CHECK(ideal_global_sectors(full_warp(16, 0)) == 1);
  // Two rows of 16 lanes that want a float each: two sectors, and none of them uncoalesced.
  WarpAccess two_rows = full_warp(4, 0);
  for (int lane = 16; lane < 32; ++lane) two_rows.address[lane] += 4096;
  CHECK(ideal_global_sectors(two_rows) == 1);
  CHECK(global_sectors(two_rows) == 2);
  CHECK(uncoalesced_sectors(two_rows) == 0);
  CHECK(uncoalesced_sectors(full_warp(4, 4096)) == 32 - 4);
  std::mt19937 random(11);
  for (int i = 0; i < 2000; ++i) {
    const WarpAccess access = random_warp(1 << random() % 5, random);
    std::set<std::uint64_t> bytes;
    for_each_lane(access.active, [&](int lane) {
      for (int b = 0; b < access.bytes; ++b) bytes.insert(access.address[lane] + b);
    });
    CHECK(ideal_global_sectors(access) == static_cast<int>(bytes.size() + 31) / 32);
    CHECK(ideal_global_sectors(access) <= global_sectors(access));
  }
}

TEST_CASE("sectors are the same in any order of the lanes") {
  WarpAccess access = full_warp(4, 36);
  const int ascending = global_sectors(access);
  std::shuffle(access.address.begin(), access.address.end(), std::mt19937(1));
  CHECK(ascending == 32);
  CHECK(global_sectors(access) == ascending);
}

TEST_CASE("bytes and halves share the word that contains them") {
  CHECK(shared_load(full_warp(1, 1)).wavefronts == 1);
  CHECK(shared_store(full_warp(2, 2)).wavefronts == 1);
  CHECK(shared_load(full_warp(2, 128)).wavefronts == 32);
}

TEST_CASE("a warp without an active lane costs nothing") {
  WarpAccess access = full_warp(8, 8);
  access.active = 0;
  CHECK(global_sectors(access) == 0);
  CHECK(ideal_global_sectors(access) == 0);
  CHECK(shared_load(access).wavefronts == 0);
  CHECK(shared_store(access).groups == 0);
  CHECK(ldmatrix(access, 4).wavefronts == 0);
  access.bytes = 16;
  CHECK(async_copy(access, access).shared.wavefronts == 0);
}

TEST_CASE("costs depend on the first address only as the header says") {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    const int bytes = 1 << random() % 5;
    const WarpAccess access = random_warp(bytes, random);
    CAPTURE(bytes);
    const std::uint64_t times = random() % 4096;
    CHECK(global_sectors(moved(access, 32 * times)) == global_sectors(access));

    const WarpAccess turned = moved(access, std::max(bytes, 4) * times);
    CHECK(shared_load(turned).wavefronts == shared_load(access).wavefronts);
    CHECK(shared_load(turned).groups == shared_load(access).groups);
    CHECK(shared_store(turned).wavefronts == shared_store(access).wavefronts);
    if (bytes == 16) {
      CHECK(ldmatrix(turned, 4).wavefronts == ldmatrix(access, 4).wavefronts);
    }
    if (bytes >= 4) {
      const WarpAccess source = full_warp(bytes, bytes);
      CHECK(
          async_copy(moved(access, 128 * times), moved(source, 128)).shared.wavefronts ==
          async_copy(access, source).shared.wavefronts);
    }
  }
  // A smaller constant does matter.
  CHECK(global_sectors(moved(full_warp(4, 4), 4)) == 5);
  WarpAccess two_lanes = full_warp(2, 126);
  two_lanes.active = 3;
  CHECK(shared_load(two_lanes).wavefronts == 1);
  CHECK(shared_load(moved(two_lanes, 2)).wavefronts == 2);
  const WarpAccess line = full_warp(16, 16);
  CHECK(async_copy(line, line).shared.wavefronts == 4);
  CHECK(async_copy(moved(line, 32), line).shared.wavefronts == 8);
}

TEST_CASE("lines are 128 bytes: a warp touches one for a row of floats, 32 for a column") {
  WarpAccess access{~0u, 4, {}};
  const auto place = [&](std::uint64_t first, std::uint64_t step) {
    for (int lane = 0; lane < kWarpSize; ++lane) access.address[lane] = first + lane * step;
  };
  place(0, 4);
  CHECK(global_lines(access) == 1);
  place(64, 4);
  CHECK(global_lines(access) == 2);
  place(0, 0);
  CHECK(global_lines(access) == 1);
  place(0, 4096);
  CHECK(global_lines(access) == 32);
  access.bytes = 16;
  place(0, 16);
  CHECK(global_lines(access) == 4);
  access.active = 0;
  CHECK(global_lines(access) == 0);
}

}  // namespace model
