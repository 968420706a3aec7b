#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "model/warp_access.h"

namespace model {

namespace {

// The lines of a CSV file after its header, split at commas, each with `columns` fields.
std::vector<std::vector<std::string>> read_csv(const std::string& path, std::size_t columns) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    REQUIRE(row.size() == columns);
    rows.push_back(row);
  }
  return rows;
}

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
  const auto rows = read_csv("src/model/data/h200_warp_accesses.csv", 8);
  CHECK(rows.size() == 221);
  for (const Row& row : rows) {
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    CAPTURE(row[2]);
    const WarpAccess access = read_access(std::stoi(row[1]), row[7]);
    if (row[0] == "ldg" || row[0] == "stg") {
      CHECK(sectors(access).size() == std::stoi(row[4]));
      check_sectors(sectors(access), access);
    } else {
      REQUIRE((row[0] == "lds" || row[0] == "sts"));
      const Wavefronts wavefronts =
          row[0] == "lds" ? wavefronts_of_load(access) : wavefronts_of_store(access);
      CHECK(wavefronts.size() == std::stoi(row[5]));
      CHECK(wavefronts.bank_conflicts() == std::stoi(row[6]));
      check_turns(wavefronts, access, access.active);
    }
  }
}

TEST_CASE("ldmatrix and cp.async cost what the H200's counters say, row by row") {
  const auto rows = read_csv("src/model/data/h200_ldmatrix_cpasync.csv", 6);
  CHECK(rows.size() == 99);
  for (const Row& row : rows) {
    CAPTURE(row[0]);
    CAPTURE(row[1]);
    CAPTURE(row[2]);
    const int width = std::stoi(row[1]);
    const bool is_ldmatrix = row[0].starts_with("ldmatrix");
    REQUIRE((is_ldmatrix || row[0] == "cp.async"));
    WarpAccess access = read_access(is_ldmatrix ? 16 : width, row[5]);
    if (is_ldmatrix) access.matrices = width;
    const Wavefronts wavefronts =
        is_ldmatrix ? wavefronts_of_load(access)
                    : split_async_copy(access, full_warp(width, width)).wavefronts;
    CHECK(wavefronts.size() == std::stoi(row[3]));
    if (!row[4].empty()) CHECK(wavefronts.bank_conflicts() == std::stoi(row[4]));
    const int lanes = is_ldmatrix ? 8 * width : kWarpSize;
    check_turns(wavefronts, access, access.active & ~std::uint32_t{0} >> (kWarpSize - lanes));
  }
}

TEST_CASE("cp.async from any sources, and past an edge, costs what the counters say, row by row") {
  const auto check_rows = [](const char* file, std::size_t count, std::size_t columns) {
    CAPTURE(file);
    const auto rows = read_csv(file, columns);
    CHECK(rows.size() == count);
    for (const Row& row : rows) {
      CAPTURE(row[1]);
      CAPTURE(row[2]);
      const int width = std::stoi(row[1]);
      const WarpAccess to = read_access(width, row[5]);
      WarpAccess from = read_access(width, row[6]);
      for (int lane = 0; lane < kWarpSize && columns == 8; ++lane) {
        if (row[7][lane] == '1') from.filling |= 1u << lane;
      }
      from.active &= ~from.filling;
      const AsyncCopySplit split = split_async_copy(to, from);
      CHECK(split.wavefronts.size() == std::stoi(row[3]));
      CHECK(split.sectors.size() == std::stoi(row[4]));
      check_turns(split.wavefronts, to, to.active);
      check_sectors(split.sectors, from);
    }
  };
  check_rows("src/model/data/h200_cpasync_strided.csv", 873, 7);
  check_rows("src/model/data/h200_cpasync_rows.csv", 278, 7);
  check_rows("src/model/data/h200_cpasync_filled.csv", 232, 8);
  check_rows("src/model/data/h100_cpasync_tiles.csv", 84, 8);
}

TEST_CASE("a full warp with 4, 8 and 16 bytes per lane needs at least 4, 8 and 16 sectors") {
  for (const int bytes : {4, 8, 16}) {
    CHECK(ideal_global_sectors(full_warp(bytes, 1024)) == bytes);
    CHECK(sectors(full_warp(bytes, bytes)).size() == bytes);
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
  CHECK(sectors(two_rows).size() == 2);
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
    CHECK(ideal_global_sectors(access) <= sectors(access).size());
  }
}

TEST_CASE("sectors are the same in any order of the lanes") {
  WarpAccess access = full_warp(4, 36);
  const int ascending = sectors(access).size();
  std::shuffle(access.address.begin(), access.address.end(), std::mt19937(1));
  CHECK(ascending == 32);
  CHECK(sectors(access).size() == ascending);
}

TEST_CASE("bytes and halves share the word that contains them") {
  CHECK(wavefronts_of_load(full_warp(1, 1)).size() == 1);
  CHECK(wavefronts_of_store(full_warp(2, 2)).size() == 1);
  CHECK(wavefronts_of_load(full_warp(2, 128)).size() == 32);
}

TEST_CASE("a warp without an active lane costs nothing") {
  WarpAccess access = full_warp(8, 8);
  access.active = 0;
  CHECK(sectors(access).size() == 0);
  CHECK(ideal_global_sectors(access) == 0);
  CHECK(wavefronts_of_load(access).size() == 0);
  CHECK(wavefronts_of_store(access).groups == 0);
  access.bytes = 16;
  CHECK(split_async_copy(access, access).wavefronts.size() == 0);
  access.matrices = 4;
  CHECK(wavefronts_of_load(access).size() == 0);
}

TEST_CASE("costs depend on the first address only as the header says") {
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    const int bytes = 1 << random() % 5;
    WarpAccess access = random_warp(bytes, random);
    CAPTURE(bytes);
    const std::uint64_t times = random() % 4096;
    CHECK(sectors(moved(access, 32 * times)).size() == sectors(access).size());

    WarpAccess turned = moved(access, std::max(bytes, 4) * times);
    CHECK(wavefronts_of_load(turned).size() == wavefronts_of_load(access).size());
    CHECK(wavefronts_of_load(turned).groups == wavefronts_of_load(access).groups);
    CHECK(wavefronts_of_store(turned).size() == wavefronts_of_store(access).size());
    if (bytes >= 4) {
      const WarpAccess source = full_warp(bytes, bytes);
      CHECK(
          split_async_copy(moved(access, 128 * times), moved(source, 128)).wavefronts.size() ==
          split_async_copy(access, source).wavefronts.size());
    }
    access.matrices = turned.matrices = bytes == 16 ? 4 : 0;
    CHECK(wavefronts_of_load(turned).size() == wavefronts_of_load(access).size());
  }
  // A smaller constant does matter.
  CHECK(sectors(moved(full_warp(4, 4), 4)).size() == 5);
  WarpAccess two_lanes = full_warp(2, 126);
  two_lanes.active = 3;
  CHECK(wavefronts_of_load(two_lanes).size() == 1);
  CHECK(wavefronts_of_load(moved(two_lanes, 2)).size() == 2);
  const WarpAccess line = full_warp(16, 16);
  CHECK(split_async_copy(line, line).wavefronts.size() == 4);
  CHECK(split_async_copy(moved(line, 32), line).wavefronts.size() == 8);
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

// As many wavefronts as the largest number of lanes that conflict with one lane, itself included.
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
    REQUIRE(sectors(access).size() == blocks_touched(access, 16));
    REQUIRE(global_lines(access) == blocks_touched(access, 64));
    REQUIRE(wavefronts_of_load(access).size() == wavefronts_by_hand(access, true));
    REQUIRE(wavefronts_of_store(access).size() == wavefronts_by_hand(access, false));
  }
}

TEST_CASE("random copies of 4 and 8 bytes on the paper GPU wait as counting by hand says") {
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {
    const int bytes = random() % 2 == 0 ? 4 : 8;
    WarpAccess to = random_access(bytes, random), from = random_access(bytes, random);
    from.active = to.active;
    const auto [sectors, wavefronts] = split_async_copy(to, from);
    REQUIRE(sectors.size() == blocks_touched(from, 16));
    REQUIRE(wavefronts.size() == narrow_copy_by_hand(to, from));
  }
}

TEST_CASE("a copy of 16 bytes on the paper GPU moves two sectors in one wavefront") {
  const WarpAccess row = of_lanes(16, {0, 4, 8, 12});
  CHECK(split_async_copy(row, row).sectors.size() == 4);
  CHECK(split_async_copy(row, row).wavefronts.size() == 2);
  CHECK(split_async_copy(row, row).wavefronts.bank_conflicts() == 0);
  // Lanes two rows of the banks apart share their banks, and their lines.
  const WarpAccess apart = of_lanes(16, {0, 8, 16, 24});
  CHECK(split_async_copy(apart, row).wavefronts.size() == 4);
}

TEST_CASE("the rules of a geometry: how many lanes are served at a time") {
  for (const auto& [bytes, real, paper] : {std::tuple{4, 32, 4}, {8, 16, 4}, {16, 8, 2}}) {
    CHECK(kGpuWarp.lanes_a_group(bytes) == real);
    CHECK(kPaperWarp.lanes_a_group(bytes) == paper);
  }
  CHECK(wavefronts_of_load(of_lanes(16, {0, 4, 8, 12})).size() == 2);
  CHECK(wavefronts_of_load(of_lanes(16, {0, 0, 4, 4})).size() == 1);  // neighbours want the same
  CHECK(wavefronts_of_store(of_lanes(16, {0, 0, 4, 4})).size() == 2);
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

TEST_CASE("a box takes the sectors of its rows, each once, and those outside only in ncu's count") {
  const struct {
    Box box;
    std::int64_t bytes, sectors, ideal, lines, delivered;
  } boxes[] = {
      {{1024, 64, 128, 16384}, 64 * 128, 64 * 4, 64 * 4, 64, 64 * 4},
      // Rows that start within a sector take one more each.
      {{1024 + 16, 10, 128, 16384}, 10 * 128, 10 * 5, 10 * 4, 10 * 2, 10 * 5},
      // Rows share a sector.
      {{0, 4, 16, 16}, 4 * 16, 2, 2, 4, 4},
      // A piece of 16 bytes that is partly inside of the matrix counts as inside.
      {{0, 1, 124, 512, 0, 4, 0}, 124, 4, 4, 1, 4},
      {{0, 1, 116, 512, 0, 12, 0}, 116, 4, 4, 1, 4},
      {{0, 1, 112, 512, 0, 16, 0}, 112, 4, 4, 1, 5},
      {{0, 1, 100, 512, 0, 28, 0}, 100, 4, 4, 1, 5},
      // All of it is outside.
      {{1024, 0, 0, 512, 0, 0, 4096}, 0, 0, 0, 0, 128}};
  for (const auto& [box, bytes, sectors, ideal, lines, delivered] : boxes) {
    CAPTURE(box.address);
    CAPTURE(box.row_bytes);
    const BoxCost cost = box_cost(box);
    CHECK(cost.bytes == bytes);
    CHECK(cost.sectors == sectors);
    CHECK(cost.ideal_sectors == ideal);
    CHECK(cost.lines == lines);
    CHECK(cost.delivered == delivered);
  }
}

TEST_CASE("ncu counts the sectors of a box as an H200 does, with zeros for what is outside") {
  const auto rows = read_csv("src/model/data/h200_tma_boxes.csv", 7);
  CHECK(rows.size() > 300);
  for (const auto& row : rows) {
    const auto number = [&](int i) { return std::stoi(row[i]); };
    const int matrix_rows = number(0), columns = number(1), box_rows = number(2);
    const int box_columns = number(3), x = number(4), y = number(5);
    const int inner_rows = std::min(matrix_rows - y, box_rows);
    const int left = std::max(0, x), right = std::min(columns, x + box_columns);
    const Box box{
        .address = std::uint64_t{4} * (y * columns + left),
        .rows = inner_rows,
        .row_bytes = 4 * (right - left),
        .pitch_bytes = std::uint64_t{4} * columns,
        .bytes_before = 4 * (left - x),
        .bytes_after = 4 * (x + box_columns - right),
        .bytes_of_other_rows = 4 * box_columns * (box_rows - inner_rows)};
    CAPTURE(x);
    CAPTURE(y);
    CAPTURE(columns);
    CHECK(box_cost(box).delivered == number(6));
  }
}

}  // namespace model
