#include "show/report/explain/source.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "testing/golden.h"

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

TEST_CASE("the sentences of some requests are those of their golden file") {
  WarpAccess shifted = strided(4, 4), two_rows = strided(4, 0), two_columns = shifted;
  WarpAccess matrices = strided(16, 16);
  matrices.matrices = 4;
  for (int lane = 0; lane < 32; ++lane) {
    shifted.address[lane] += 4;
    two_rows.address[lane] = lane < 16 ? 0 : 4 * 128;
    two_columns.address[lane] = 4 * (lane / 2 + lane % 2 * 512);
  }
  std::string copies;
  for (const auto& [active, filling] : {std::pair{1u, 0u}, {~0u, 0xffu}, {~0u, ~0u}}) {
    WarpAccess to = strided(16, 16, active), from = to;
    from.active &= ~filling;
    from.filling = filling;
    copies += request_sentence({to, true, Direction::copy, 0, &from}) + "\n";
  }
  const auto load = Direction::load, store = Direction::store;
  testing::compare_with_golden(
      "sentences", {{"neighbours", global(strided(4, 4))},
                    {"rows", global(strided(4, 1024), 256)},
                    {"pieces", global(strided(4, 1024))},
                    {"the same", global(strided(4, 0))},
                    {"shifted", global(shifted)},
                    {"two rows", shared(two_rows, load, 8)},
                    {"two columns", shared(two_columns, store, 128)},
                    {"a bank", shared(strided(4, 128), store, 32)},
                    {"all banks", shared(strided(4, 4), load)},
                    {"a word", shared(strided(4, 0), load)},
                    {"wide", shared(strided(16, 128), load)},
                    {"ldmatrix", shared(matrices, load)},
                    {"copies", copies}});
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

}  // namespace report
