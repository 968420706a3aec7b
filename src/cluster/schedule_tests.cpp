#include "cluster/schedule.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/refusal.h"
#include "testing/fuzz.h"

namespace cluster {

namespace {

std::string in_words(const Schedule& s) {
  const auto [M, N, K] = s.shape;
  return std::to_string(M) + " x " + std::to_string(N) + " x " + std::to_string(K) + " on " +
         in_words(s.grid) + ", panels of " + std::to_string(s.panel);
}

// Random schedules; some have parts without an element.
std::vector<Schedule> random_schedules(int count) {
  std::mt19937 random(16);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  std::vector<Schedule> all;
  for (int i = 0; i < count; ++i) {
    const int most = i % 2 == 0 ? 20 : 700;
    const Shape shape{upto(most), upto(most), upto(most)};
    all.push_back(schedule(shape, {1 + upto(5), 1 + upto(5)}, 1 + upto(most)));
  }
  return all;
}

// One panel goes around a ring of devices that begins at its owner: each hands it on, but the last.
void pass_around(
    std::vector<Load>& loads, const std::vector<int>& ring, int owner, std::int64_t bytes) {
  const std::size_t size = ring.size();
  for (std::size_t hop = 0; hop + 1 < size; ++hop) {
    Load& from = loads[ring[(owner + hop) % size]];
    Load& to = loads[ring[(owner + hop + 1) % size]];
    from.bytes_sent += bytes;
    ++from.messages_sent;
    to.bytes_received += bytes;
    ++to.messages_received;
  }
}

// What travels, counted step by step.
std::vector<Load> counted_in_steps(const Schedule& s) {
  const auto [P, Q] = s.grid;
  std::vector<Load> loads(s.grid.devices());
  for (const Step& step : s.steps) {
    if (step.k.size == 0) continue;
    for (int row = 0; row < P; ++row) {
      std::vector<int> ring;
      for (int column = 0; column < Q; ++column) ring.push_back(row * Q + column);
      const std::int64_t rows = part_of(s.shape.M, P, row).size;
      pass_around(loads, ring, step.from_column, 4 * rows * step.k.size);
    }
    for (int column = 0; column < Q; ++column) {
      std::vector<int> ring;
      for (int row = 0; row < P; ++row) ring.push_back(row * Q + column);
      const std::int64_t columns = part_of(s.shape.N, Q, column).size;
      pass_around(loads, ring, step.from_row, 4 * columns * step.k.size);
    }
  }
  return loads;
}

std::string refusal_of_grid(const std::string& typed, Shape shape, int devices) {
  try {
    read_grid(typed, shape, devices);
  } catch (const model::Refusal& refusal) {
    return refusal.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the parts of a side follow one another without a gap, and differ by at most 4") {
  std::vector<int> extents{997, 1024, 4095, 16384, 65537, INT_MAX - 1, INT_MAX};
  for (int extent = 0; extent <= 150; ++extent) extents.push_back(extent);
  for (const int extent : extents) {
    CAPTURE(extent);
    for (int parts = 1; parts <= 40; ++parts) {
      CAPTURE(parts);
      int end = 0, least = INT_MAX, most = 0;
      bool are_joined = true, are_aligned = true;
      for (int i = 0; i < parts; ++i) {
        const Part part = part_of(extent, parts, i);
        are_joined = are_joined && part.begin == end && part.size >= 0;
        are_aligned = are_aligned && part.begin % 4 == 0;
        end = part.end();
        least = std::min(least, part.size);
        most = std::max(most, part.size);
      }
      CHECK(are_joined);
      CHECK(end == extent);
      CHECK(most - least <= 4);
      if (extent >= 4 * parts) CHECK(are_aligned);
      if (extent >= parts) CHECK(least > 0);
    }
  }
}

TEST_CASE("the steps go through K once, in panels that lie with one column and one row") {
  for (const Schedule& s : random_schedules(1000)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    const auto lies_in = [](Part inner, Part outer) {
      return outer.begin <= inner.begin && inner.end() <= outer.end();
    };
    int end = 0, widest = 0, empty = 0;
    bool are_joined = true, are_owned = true;
    for (const Step& step : s.steps) {
      are_joined = are_joined && step.k.begin == end;
      end = step.k.end();
      widest = std::max(widest, step.k.size);
      empty += step.k.size == 0;
      are_owned = are_owned &&
                  lies_in(step.k, part_of(s.shape.K, s.grid.columns, step.from_column)) &&
                  lies_in(step.k, part_of(s.shape.K, s.grid.rows, step.from_row));
    }
    CHECK(are_joined);
    CHECK(are_owned);
    CHECK(end == s.shape.K);
    CHECK(widest <= s.panel);
    CHECK(empty == (s.shape.K == 0 ? 1 : 0));
  }
}

TEST_CASE("a product without a K has one empty step, so that C is still multiplied by beta") {
  const Schedule s = schedule({8, 8, 0}, {2, 2}, 16);
  REQUIRE(s.steps.size() == 1);
  CHECK(s.steps[0].k.size == 0);
  CHECK(predicted_load(s, 0).messages_received == 0);
}

TEST_CASE("the first panel is a quarter of the others, since nothing hides its journey") {
  const Schedule s = schedule({64, 64, 8192}, {1, 1}, 1024);
  std::vector<int> widths;
  for (const Step& step : s.steps) widths.push_back(step.k.size);
  CHECK(widths == std::vector<int>{256, 512, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 256});
  CHECK(schedule({64, 64, 9}, {1, 1}, INT_MAX).steps.size() == 1);
}

TEST_CASE("a usual panel is an equal part of K between 1024 and 4096") {
  CHECK(usual_panel(0) == 1024);
  CHECK(usual_panel(4096) == 1024);
  CHECK(usual_panel(8192) == 2048);
  CHECK(usual_panel(8193) == 2048);
  CHECK(usual_panel(8292) == 2080);
  CHECK(usual_panel(32768) == 4096);
  CHECK(usual_panel(32768, 16) == 2048);
  CHECK(usual_panel(INT_MAX) == 4096);
}

TEST_CASE("of all grids of that many devices, the chosen one sends the fewest floats") {
  std::mt19937 random(17);
  const auto side = [&] { return 1 + static_cast<int>(random() % (random() % 2 ? 12 : 2000)); };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const Shape shape{side(), side(), side()};
    const int devices = 1 + static_cast<int>(random() % 64);
    std::optional<Grid> best;
    double fewest = 0;
    for (int rows = 1; rows <= devices; ++rows) {
      for (int columns = 1; columns <= devices; ++columns) {
        if (rows * columns != devices || rows > shape.M || columns > shape.N) continue;
        const double floats =
            1.0 * shape.M * shape.K * (columns - 1) + 1.0 * shape.K * shape.N * (rows - 1);
        if (best && floats >= fewest) continue;
        best = Grid{rows, columns};
        fewest = floats;
      }
    }
    CAPTURE(shape.M);
    CAPTURE(shape.N);
    CAPTURE(devices);
    if (!best) {
      ++refused;
      CHECK_THROWS_AS(choose_grid(shape, devices), model::Refusal);
    } else {
      CHECK(choose_grid(shape, devices) == *best);
      CHECK(floats_that_travel(shape, *best) == fewest);
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("the chosen grid of some counts of devices") {
  CHECK(choose_grid({4096, 4096, 4096}, 1) == Grid{1, 1});
  CHECK(choose_grid({4096, 4096, 4096}, 4) == Grid{2, 2});
  CHECK(choose_grid({4096, 4096, 4096}, 6) == Grid{2, 3});  // as much travels as on 3 x 2
  CHECK(choose_grid({4096, 4096, 4096}, 7) == Grid{1, 7});
  CHECK(choose_grid({8192, 64, 64}, 7) == Grid{7, 1});
  CHECK(choose_grid({64, 8192, 64}, 8) == Grid{1, 8});
  CHECK(choose_grid({0, 0, 5}, 1) == Grid{1, 1});
  CHECK_THROWS_WITH(
      choose_grid({2, 2, 2}, 5),
      "--gpus 5: C is 2 x 2, and no grid of that many GPUs gives each of them a part of it; give "
      "fewer");
}

TEST_CASE("a grid is read as it is typed, and refused with a sentence where it does not suit") {
  const Shape shape{10, 3, 5};
  CHECK(read_grid("4x1", shape, 4) == Grid{4, 1});
  CHECK(read_grid("2x3", shape, 6) == Grid{2, 3});
  for (const char* typed :
       {"x", "2", "2x", "x2", "2X2", "2x2x1", "2 x 2", " 2x2", "2x2 ", "-2x-2", "0x4", "4x0",
        "2.0x2", "four", "99999999999x1", "1x99999999999", "+2x2"}) {
    CAPTURE(std::string(typed));
    const std::string said = refusal_of_grid(typed, shape, 4);
    CHECK(said.find("not a grid; give rows x columns, for example --grid 2x2") != said.npos);
    CHECK(said.find(typed) != said.npos);
  }
  CHECK(
      refusal_of_grid("2x2", shape, 6) ==
      "--grid 2x2: it has 4 places for 6 GPUs; give a grid with as many as --gpus");
  CHECK(refusal_of_grid("65536x65536", shape, 4).find("4294967296 places") != std::string::npos);
  const std::string too_few =
      ": C is 10 x 3, which has too few rows or columns for it; give another grid";
  CHECK(refusal_of_grid("1x4", shape, 4) == "--grid 1x4" + too_few);
  CHECK(refusal_of_grid("11x1", shape, 11) == "--grid 11x1" + too_few);
}

TEST_CASE("any text for a grid is read or refused with a sentence") {
  testing::Fuzz fuzz({"2x2", "1x4", "4x1"}, {"x", "2x2", "1x4", "4x1", "0", "99999999999"});
  testing::fuzz<model::Refusal>(
      [&] { return fuzz.next(); },
      [](const std::string& typed) {
        const Grid grid = read_grid(typed, {100, 100, 100}, 4);
        if (grid.devices() != 4) throw std::logic_error("accepted " + typed);
      });
}

TEST_CASE("what each device sends and receives by formula is what its steps send and receive") {
  for (const Schedule& s : random_schedules(1500)) {
    const std::string words = in_words(s);
    CAPTURE(words);
    const std::vector<Load> counted = counted_in_steps(s);
    bool are_equal = true;
    double received = 0, sent = 0;
    for (int device = 0; device < s.grid.devices(); ++device) {
      Load predicted = predicted_load(s, device);
      received += static_cast<double>(predicted.bytes_received);
      sent += static_cast<double>(predicted.bytes_sent);
      predicted.bytes_held = 0;
      are_equal = are_equal && predicted == counted[device];
    }
    CHECK(are_equal);
    CHECK(received == 4 * floats_that_travel(s.shape, s.grid));
    CHECK(sent == received);
  }
}

TEST_CASE("a device holds its parts of A, B and C, and two panels of each matrix that travels") {
  const Shape shape{100, 60, 40};
  CHECK(
      predicted_load(schedule(shape, {1, 1}, 16), 0).bytes_held == 4 * (100 * 40 + 40 * 60 + 6000));
  CHECK(
      predicted_load(schedule(shape, {1, 2}, 16), 1).bytes_held ==
      4 * (100 * 20 + 40 * 32 + 100 * 32 + 2 * 16 * 100));
  CHECK(
      predicted_load(schedule(shape, {2, 2}, 4096), 0).bytes_held ==
      4 * (48 * 20 + 20 * 28 + 48 * 28 + 2 * 40 * (48 + 28)));
}

TEST_CASE("a schedule of too many steps to list is refused with their number") {
  CHECK_THROWS_WITH_AS(
      schedule({8, 8, 2'000'000'000}, {2, 2}, 1),
      "this product would take 8.0e+09 steps; give a wider --panel or smaller matrices",
      model::Refusal);
  CHECK_NOTHROW(schedule({8, 8, 1'000'000}, {2, 2}, 1));
}

TEST_CASE("the largest matrices that flags allow do not overflow the formulas") {
  const Schedule s = schedule({INT_MAX, INT_MAX, 4096}, {16, 16}, 4096);
  double received = 0;
  for (int device = 0; device < 256; ++device) {
    received += static_cast<double>(predicted_load(s, device).bytes_received);
  }
  CHECK(received == doctest::Approx(4 * floats_that_travel(s.shape, s.grid)));
  CHECK(predicted_load(s, 255).bytes_held > 0);
}

}  // namespace cluster
