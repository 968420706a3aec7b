#include "cluster/streams.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "model/refusal.h"

namespace cluster {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

std::string in_words(const Streams& s) {
  const auto [M, N, K] = s.shape;
  return std::to_string(M) + " x " + std::to_string(N) + " x " + std::to_string(K) + " on " +
         in_words(s.grid) + ", panels of " + std::to_string(s.panel) + ", passes of " +
         std::to_string(s.columns);
}

// Random plans on devices that have little memory; some need several passes, and some of the
// devices have nothing to do.
std::vector<Streams> random_streams(int count) {
  std::mt19937 random(18);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  std::vector<Streams> all;
  for (int i = 0; i < count; ++i) {
    const Shape shape{upto(i % 2 == 0 ? 1200 : 40), upto(1500), upto(60)};
    const Grid grid{1 + upto(2), 1 + upto(2)};
    const int panel = 1 + upto(70);
    const double least = 4.0 * (shape.K * 128 + 2 * 256 * std::min(panel, 60) + 2 * 256 * 128);
    all.push_back(streams(shape, grid, panel, upto(1) == 1, least * (1 + upto(8))));
  }
  return all;
}

// The cells of a device's part that a pass and a block cover, each once, for every panel.
bool covers_its_part(const Streams& s, int device) {
  const Schedule parts{s.shape, s.grid, s.panel, {}};
  const Part m = parts.M_of(device), n = parts.N_of(device);
  // Of every element of the part: up to which k its products are added up.
  std::vector<int> summed(std::size_t(m.size) * n.size, 0);
  for (const StreamStep& step : s.steps[device]) {
    if (step.rows.begin < m.begin || step.rows.end() > m.end()) return false;
    if (step.columns.begin < n.begin || step.columns.end() > n.end()) return false;
    if (step.rows.size < 1 || step.columns.size < 1) return false;
    if (step.first != (step.k.begin == 0) || step.last != (step.k.end() == s.shape.K)) return false;
    for (int row = step.rows.begin; row < step.rows.end(); ++row) {
      for (int column = step.columns.begin; column < step.columns.end(); ++column) {
        int& k = summed[std::size_t(row - m.begin) * n.size + column - n.begin];
        if (k != step.k.begin) return false;
        k = step.k.end();
      }
    }
  }
  return std::all_of(summed.begin(), summed.end(), [&](int k) { return k == s.shape.K; });
}

int passes_of(const Streams& s, int device) {
  int passes = 0, column = -1;
  for (const StreamStep& step : s.steps[device]) {
    passes += step.columns.begin != column;
    column = step.columns.begin;
  }
  return passes;
}

// What the steps copy.
Load counted_in_steps(const Streams& s, int device) {
  Load load;
  const auto arrives = [&](std::int64_t rows, std::int64_t columns) {
    load.bytes_received += 4 * rows * columns;
    load.messages_received += rows * columns > 0;
  };
  for (const StreamStep& step : s.steps[device]) {
    arrives(step.rows.size, step.k.size);
    if (step.B_arrives) arrives(step.k.size, step.columns.size);
    if (step.first && s.reads_C) arrives(step.rows.size, step.columns.size);
    if (!step.last) continue;
    load.bytes_sent += std::int64_t{4} * step.rows.size * step.columns.size;
    ++load.messages_sent;
  }
  return load;
}

}  // namespace

TEST_CASE("the steps of a device add up every product of its part once, in the order of k") {
  int several = 0, idle = 0;
  for (const Streams& s : random_streams(60)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    REQUIRE(s.steps.size() == std::size_t(s.grid.devices()));
    for (int device = 0; device < s.grid.devices(); ++device) {
      CHECK(covers_its_part(s, device));
      several += passes_of(s, device) > 1;
      idle += s.steps[device].empty();
    }
  }
  CHECK(several > 5);
  CHECK(idle > 5);
}

TEST_CASE("no step is wider than the places for it, and blocks are counted one after the other") {
  for (const Streams& s : random_streams(400)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    bool fit = true, are_counted = true;
    for (const std::vector<StreamStep>& steps : s.steps) {
      int block = -1;
      for (const StreamStep& step : steps) {
        fit = fit && step.rows.size <= s.rows && step.columns.size <= s.columns &&
              step.k.size <= s.panel;
        block += step.first;
        are_counted = are_counted && step.block == block;
      }
    }
    CHECK(fit);
    CHECK(are_counted);
  }
}

TEST_CASE("B arrives once in each pass, with the pass's first block of rows") {
  for (const Streams& s : random_streams(400)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    bool is_there = true;
    for (const std::vector<StreamStep>& steps : s.steps) {
      Part columns{-1, 0};
      int known = 0;  // the k up to which this pass's B has come
      for (const StreamStep& step : steps) {
        if (step.columns != columns) known = 0;
        columns = step.columns;
        is_there = is_there && step.B_arrives == (known < step.k.end() || s.shape.K == 0);
        if (s.shape.K == 0) break;
        if (step.B_arrives) known = step.k.end();
      }
    }
    CHECK(is_there);
  }
}

TEST_CASE("what a device copies by formula is what its steps copy") {
  for (const Streams& s : random_streams(1500)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    bool are_equal = true;
    for (int device = 0; device < s.grid.devices(); ++device) {
      Load predicted = predicted_load(s, device);
      predicted.bytes_held = 0;
      are_equal = are_equal && predicted == counted_in_steps(s, device);
    }
    CHECK(are_equal);
  }
}

TEST_CASE("with less memory there are more passes, and too little is refused with both numbers") {
  const Shape shape{4096, 4096, 4096};
  const Grid grid{1, 2};
  int passes = 0, most = 0;
  bool is_refused = false;
  for (double memory = 60e6; !is_refused; memory -= 1e6) {
    CAPTURE(memory);
    try {
      const Streams s = streams(shape, grid, 512, true, memory);
      CHECK(static_cast<double>(predicted_load(s, 0).bytes_held) <= memory);
      CHECK(passes_of(s, 0) >= passes);
      passes = passes_of(s, 0);
      most = std::max(most, passes);
    } catch (const model::Refusal& refusal) {
      is_refused = true;
      CHECK(
          std::string(refusal.what()) ==
          "a GPU needs at least 4.72 MB of memory to multiply these matrices from the host's "
          "memory, and has 4.00 MB free");
    }
  }
  CHECK(passes_of(streams(shape, grid, 512, true, kUnlimited), 0) == 1);
  CHECK(most > 10);
}

TEST_CASE("a device whose memory just suffices for one pass makes one, and a byte less makes two") {
  const Shape shape{2048, 1024, 1024};
  const Streams all = streams(shape, {1, 1}, 256, true, kUnlimited);
  const auto bytes = static_cast<double>(predicted_load(all, 0).bytes_held);
  CHECK(all.columns == 1024);
  CHECK(streams(shape, {1, 1}, 256, true, bytes).columns == 1024);
  const Streams two = streams(shape, {1, 1}, 256, true, bytes - 1);
  CHECK(two.columns == 512);
  CHECK(passes_of(two, 0) == 2);
  CHECK(predicted_load(two, 0).bytes_received == 4 * (1024 * 1024 + 3 * 2048 * 1024));
}

TEST_CASE("more steps than can be listed are refused") {
  CHECK_THROWS_AS(
      streams({INT_MAX, INT_MAX, INT_MAX}, {1, 2}, 4096, false, kUnlimited), model::Refusal);
}

TEST_CASE("sides near 2^31 are cut into blocks without overflow") {
  const Streams tall = streams({INT_MAX, 1, 1}, {2, 1}, 4096, false, kUnlimited);
  for (const std::vector<StreamStep>& steps : tall.steps) {
    CHECK(steps.size() == 262144);
    CHECK(steps.back().rows.size > 0);
  }
  CHECK(tall.steps.back().back().rows.end() == INT_MAX);
  const Streams deep = streams({1, 1, INT_MAX}, {1, 1}, 4096, false, kUnlimited);
  REQUIRE(deep.steps[0].size() == 524288);
  CHECK(deep.steps[0].back().k.end() == INT_MAX);
  const Streams wide = streams({1, INT_MAX, 1}, {1, 1}, 4096, false, kUnlimited);
  CHECK(wide.columns == INT_MAX);
  REQUIRE(wide.steps[0].size() == 1);
  CHECK(wide.steps[0][0].columns == Part{0, INT_MAX});
  const Streams passes = streams({1, INT_MAX, 1}, {1, 1}, 4096, false, 3e12);
  CHECK(passes.steps[0].back().columns.end() == INT_MAX);
}

}  // namespace cluster
