#include "show/report/request_sentence.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

namespace report {

namespace {

using model::Direction;
using model::WarpAccess;

// Lanes `apart` bytes from each other.
WarpAccess strided(int bytes, std::uint64_t apart, std::uint32_t active = ~0u) {
  WarpAccess access{.active = active, .bytes = bytes, .address = {}};
  for (int lane = 0; lane < model::kWarpSize; ++lane) access.address[lane] = apart * lane;
  return access;
}

std::string global(const WarpAccess& access, int row_words = 0) {
  return request_sentence({access, false, Direction::load, row_words});
}

std::string shared(const WarpAccess& access, Direction direction, int row_words = 0) {
  return request_sentence({access, true, direction, row_words});
}

// The number before these words; -1 if there is none.
int number_before(const std::string& sentence, const std::string& words) {
  std::size_t end = sentence.rfind(words);
  if (end == sentence.npos || end == 0) return -1;
  std::string digits;
  while (end > 0 && (std::isdigit(sentence[end - 1]) || sentence[end - 1] == ',')) {
    if (sentence[--end] != ',') digits.insert(digits.begin(), sentence[end]);
  }
  return digits.empty() ? -1 : std::atoi(digits.c_str());
}

// Aligned addresses that often coincide, often with lanes that take no part.
WarpAccess random_access(int bytes, std::mt19937& random) {
  WarpAccess access = strided(bytes, bytes * (random() % 3 == 0 ? random() % 130 : 1));
  if (random() % 2) access.active = static_cast<std::uint32_t>(random() | 1);
  if (random() % 3 == 0) return access;
  const unsigned span = 1u << random() % 11;
  const bool in_pairs = random() % 2;
  for (int lane = 0; lane < model::kWarpSize; ++lane) {
    access.address[lane] = std::uint64_t{random() % span} * bytes;
    if (in_pairs && lane % 2 == 1) access.address[lane] = access.address[lane - 1];
  }
  return access;
}

int used_bytes(const WarpAccess& access) {
  std::set<std::uint64_t> bytes;
  model::for_each_lane(access.active, [&](int lane) {
    for (int i = 0; i < access.bytes; ++i) bytes.insert(access.address[lane] + i);
  });
  return static_cast<int>(bytes.size());
}

// The most different words of one bank.
std::size_t most_words(const WarpAccess& access) {
  std::map<std::uint64_t, std::set<std::uint64_t>> banks;
  std::size_t most = 0;
  model::for_each_lane(access.active, [&](int lane) {
    model::for_each_word(access, lane, [&](std::uint64_t word) {
      banks[word % 32].insert(word);
      most = std::max(most, banks[word % 32].size());
    });
  });
  return most;
}

}  // namespace

TEST_CASE("a request to global memory says which bytes it wants and how many it uses") {
  CHECK(
      global(strided(4, 4)) ==
      "32 lanes want 128 neighbouring bytes: 4 sectors, and all their bytes are used.");
  CHECK(
      global(strided(4, 1024), 256) ==
      "32 lanes want 4 bytes in each of 32 rows: 32 sectors, and 4 bytes of each are used.");
  CHECK(
      global(strided(4, 1024)) ==
      "32 lanes want 32 pieces of 4 bytes, 1,024 bytes apart: 32 sectors, and 4 bytes of each are "
      "used.");
  CHECK(
      global(strided(4, 0)) ==
      "32 lanes want the same 4 bytes: 1 sector, and 4 bytes of each are used.");
  WarpAccess shifted = strided(4, 4);
  for (std::uint64_t& address : shifted.address) address += 4;
  CHECK(
      global(shifted) ==
      "32 lanes want 128 neighbouring bytes: 5 sectors, and 128 of their 160 bytes are used.");
}

TEST_CASE("a request to shared memory says which words share a bank") {
  WarpAccess two_rows = strided(4, 0);
  for (int lane = 16; lane < 32; ++lane) two_rows.address[lane] = 4 * 128;
  CHECK(
      shared(two_rows, Direction::load, 8) ==
      "Lanes 0 and 16 want 2 different words of the same bank, 128 words apart (16 rows): "
      "2 wavefronts, one for lanes 0–15 and one for lanes 16–31.");
  WarpAccess two_columns = strided(4, 4);
  for (int lane = 0; lane < 32; ++lane) two_columns.address[lane] = 4 * (lane / 2 + lane % 2 * 512);
  CHECK(
      shared(two_columns, Direction::store, 128) ==
      "Lanes 0 and 1 want 2 different words of the same bank, 512 words apart (4 rows): "
      "2 wavefronts, one for lanes 0, 2, ..., 30 and one for lanes 1, 3, ..., 31.");
  CHECK(
      shared(strided(4, 128), Direction::store, 32) ==
      "Lanes 0–31 want 32 different words of the same bank, 32 words apart (1 row): "
      "32 wavefronts.");
  CHECK(
      shared(strided(4, 4), Direction::load) ==
      "32 lanes want 32 different words, no two of them in one bank: 1 wavefront.");
  CHECK(
      shared(strided(4, 0), Direction::load) ==
      "32 lanes want the same word, and its bank gives it to all: 1 wavefront.");
  CHECK(
      shared(strided(16, 128), Direction::load) ==
      "With 16 bytes per lane, 4 groups of up to 8 lanes are served in turn; each group wants 8 "
      "different words of one bank: 4 x 8 = 32 wavefronts.");
  WarpAccess matrices = strided(16, 16);
  matrices.matrices = 4;
  CHECK(
      shared(matrices, Direction::load) ==
      "A matrix has 8 rows of 16 bytes, and 4 matrices are served in turn: 4 wavefronts, one for "
      "each matrix.");
}

TEST_CASE("the numbers of a sentence are the model's, for random requests to global memory") {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const WarpAccess access = random_access(1 << random() % 5, random);
    const std::string sentence = global(access, static_cast<int>(random() % 3) * 8);
    CAPTURE(sentence);
    const int sectors = number_before(sentence, " sector");
    CHECK(sectors == model::global_sectors(access));
    CHECK(number_before(sentence, " lane") == std::popcount(access.active));
    const int used = used_bytes(access);
    const bool all_used = sentence.find("all their bytes") != sentence.npos;
    const int of_each = number_before(sentence, " bytes of each are used");
    const int of_each_one = number_before(sentence, " byte of each is used");
    if (all_used) {
      CHECK(used == 32 * sectors);
    } else if (of_each >= 0 || of_each_one >= 0) {
      CHECK(used == std::max(of_each, of_each_one) * sectors);
    } else {
      CHECK(number_before(sentence, " of their ") == used);
      CHECK(number_before(sentence, " bytes are used") == 32 * sectors);
    }
  }
}

TEST_CASE("the numbers of a sentence are the model's, for random requests to shared memory") {
  std::mt19937 random(2);
  for (int i = 0; i < 5000; ++i) {
    const WarpAccess access = random_access(4 << random() % 3, random);
    const bool is_load = random() % 2 == 0;
    const std::string sentence =
        shared(access, is_load ? Direction::load : Direction::store, random() % 2 ? 32 : 0);
    CAPTURE(sentence);
    const model::SharedCost cost =
        is_load ? model::shared_load(access) : model::shared_store(access);
    CHECK(number_before(sentence, " wavefront") == cost.wavefronts);
    const int groups = number_before(sentence, " groups of up to");
    CHECK((groups < 0 ? 1 : groups) == cost.groups);
    if (groups > 0) {
      const int each = number_before(sentence, " different words of one bank");
      if (each > 0) CHECK(each * groups == cost.wavefronts);
      if (sentence.find("one for each group") != sentence.npos) CHECK(cost.wavefronts == groups);
    } else if (const int words = number_before(sentence, " different words of the same bank");
               words > 0) {
      CHECK(words == static_cast<int>(most_words(access)));
      CHECK(words == cost.wavefronts);
    } else {
      CHECK(most_words(access) == 1);
      const int different = number_before(sentence, " different word");
      CHECK((different < 0 ? 1 : different) * 4 == used_bytes(access));
    }
  }
}

TEST_CASE("the numbers of a sentence are the model's, for random ldmatrix and cp.async") {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    WarpAccess rows = random_access(16, random);
    rows.matrices = 1 << random() % 3;
    const std::string of_rows = shared(rows, Direction::load);
    CAPTURE(of_rows);
    CHECK(number_before(of_rows, " wavefront") == model::ldmatrix(rows, rows.matrices).wavefronts);

    const int bytes = 4 << random() % 3;
    const WarpAccess to = random_access(bytes, random);
    WarpAccess from = random_access(bytes, random);
    from.active = to.active;
    from.filling = random() % 2 ? 0 : from.active & static_cast<std::uint32_t>(random());
    from.active &= ~from.filling;
    const model::AsyncCopyCost cost = model::async_copy(to, from);
    const std::string written = request_sentence({to, true, Direction::copy, 0, &from});
    const std::string read = request_sentence({from, false, Direction::copy, 0, &to});
    CAPTURE(written);
    CAPTURE(read);
    CHECK(
        number_before(written, " wavefronts.") + number_before(written, " wavefront.") + 1 ==
        cost.shared.wavefronts);
    CHECK(number_before(read, " sector") == cost.sectors);
  }
}

TEST_CASE("the sentence of a cp.async names the lanes that copy and those that fill") {
  const auto sentence = [](std::uint32_t active, std::uint32_t filling) {
    WarpAccess to{.active = active, .bytes = 16, .address = {}, .warp = {}}, from = to;
    for (int lane = 0; lane < model::kWarpSize; ++lane) {
      to.address[lane] = from.address[lane] = 16 * lane;
    }
    from.active &= ~filling;
    from.filling = filling;
    return request_sentence({to, true, Direction::copy, 0, &from});
  };
  CHECK(
      sentence(1, 0) ==
      "1 lane copies from 1 line to 1 line of shared memory, and a wavefront moves sectors from "
      "one "
      "line to one line: 1 wavefront.");
  CHECK(
      sentence(~0u, 0xff) ==
      "24 lanes copy from 3 lines to 3 lines of shared memory, and a wavefront moves sectors from "
      "one line to one line; 8 lanes fill with zeros: 4 wavefronts.");
  CHECK(sentence(~0u, ~0u) == "32 lanes fill with zeros: 4 wavefronts.");
}

}  // namespace report
