#include <doctest/doctest.h>

#include <algorithm>
#include <climits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/devices.h"
#include "cluster/schedule.h"
#include "model/refusal.h"

namespace cluster {

namespace {

// Random schedules; some have parts without an element.
std::vector<Schedule> random_schedules(int count) {
  std::mt19937 random(16);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  std::vector<Schedule> all;
  for (int i = 0; i < count; ++i) {
    const int most = i % 2 == 0 ? 20 : 700;
    const ProblemSize size{upto(most), upto(most), upto(most)};
    all.push_back(schedule(size, {1 + upto(5), 1 + upto(5)}, 1 + upto(most)));
  }
  return all;
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
        const Interval part = part_of(extent, parts, i);
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

TEST_CASE("the panels are K, and each has one owner in a row and in a column") {
  for (const Schedule& s : random_schedules(300)) {
    INFO(s.size.K, " on a grid of ", in_words(s.grid), ", panels of ", s.panel);
    int end = 0, widest = 0;
    bool are_right = true;
    for (const Interval& panel : s.panels) {
      are_right = are_right && panel.begin == end;
      end = panel.end();
      widest = std::max(widest, panel.size);
    }
    CHECK(end == s.size.K);
    CHECK(widest == s.panel);
    // Its owner multiplies it without waiting for it, and no other device of the line does.
    std::set<std::pair<int, int>> of_A, of_B;  // a device, and a panel that it owns
    for (int device = 0; device < s.grid.devices(); ++device) {
      for (const PanelStep& step : s.steps[device]) {
        if (!step.A_arrives) of_A.emplace(device, step.panel);
        if (!step.B_arrives) of_B.emplace(device, step.panel);
      }
    }
    for (int device = 0; device < s.grid.devices(); ++device) {
      for (const PanelStep& step : s.steps[device]) {
        are_right = are_right && step.k == s.panels[step.panel];
        for (int other = 0; other < s.grid.devices(); ++other) {
          const bool in_row = s.grid.row_of(other) == s.grid.row_of(device);
          const bool in_column = s.grid.column_of(other) == s.grid.column_of(device);
          are_right =
              are_right &&
              (!in_row || of_A.contains({other, step.panel}) == (other == step.owner_of_A)) &&
              (!in_column || of_B.contains({other, step.panel}) == (other == step.owner_of_B));
        }
      }
    }
    CHECK(are_right);
  }
}

TEST_CASE("the panels to choose from are halves of one another, and the host's an eighth of K") {
  const auto widths = [](ProblemSize size, DeviceGrid grid) {
    std::vector<int> all;
    for (const Schedule& s : schedules(size, grid)) all.push_back(s.panel);
    return all;
  };
  CHECK(widths({8, 8, 16384}, {2, 2}) == std::vector<int>{8192, 4096, 2048, 1024});
  CHECK(widths({8, 8, 32768}, {2, 4}) == std::vector<int>{8192, 4096, 2048, 1024});
  CHECK(widths({8, 8, 16384}, {1, 1}) == std::vector<int>{16384, 8192, 4096, 2048, 1024});
  CHECK(widths({8, 8, 100}, {2, 2}) == std::vector<int>{52});
  CHECK(widths({8, 8, 0}, {2, 2}) == std::vector<int>{0});
  for (const auto& [K, width] :
       std::map<int, int>{{0, 1024}, {8192, 1024}, {16384, 2048}, {16640, 2080}, {INT_MAX, 4096}}) {
    CHECK(usual_panel(K) == width);
  }
}

TEST_CASE("of all grids of that many devices, the chosen one sends the fewest floats") {
  std::mt19937 random(17);
  const auto side = [&] { return 1 + static_cast<int>(random() % (random() % 2 ? 12 : 2000)); };
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const ProblemSize size{side(), side(), side()};
    const int devices = 1 + static_cast<int>(random() % 64);
    double fewest = kUnlimited;
    for (int rows = 1; rows <= devices; ++rows) {
      const int columns = devices / rows;
      if (rows * columns != devices || rows > size.M || columns > size.N) continue;
      fewest = std::min(
          fewest, 1.0 * size.M * size.K * (columns - 1) + 1.0 * size.K * size.N * (rows - 1));
    }
    INFO(size.M, " x ", size.N, " on ", devices);
    try {
      const DeviceGrid grid = choose_grid(size, devices);
      CHECK((grid.devices() == devices && grid.rows <= size.M && grid.columns <= size.N));
      CHECK(floats_that_travel(size, grid) == fewest);
    } catch (const model::Refusal&) {
      CHECK(fewest == kUnlimited);
      ++refused;
    }
  }
  CHECK(refused > 0);
  CHECK(choose_grid({10, 3, 5}, 4, "4x1") == DeviceGrid{4, 1});
  CHECK(choose_grid({10, 3, 5}, 6, "2x3") == DeviceGrid{2, 3});
  for (const char* typed :
       {"1x4", "11x1", "x", "2x", "2X2", "2 x 2", "2x2 ", "02x2", "65536x65536"}) {
    CAPTURE(typed);
    CHECK_THROWS_AS(choose_grid({10, 3, 5}, 4, typed), model::Refusal);
  }
}

TEST_CASE(
    "a byte less than one pass needs makes two, and too little is refused with both numbers") {
  const ProblemSize size{2048, 1024, 1024};
  const auto with = [&](double memory) { return from_host(size, {1, 1}, 256, true, memory); };
  const auto bytes = static_cast<double>(predicted_load(with(kUnlimited), 0).bytes_held);
  CHECK(with(bytes).columns == 1024);
  const Schedule two = with(bytes - 1);
  CHECK(two.columns == 512);
  CHECK(predicted_load(two, 0).bytes_received == 4 * (1024 * 1024 + 3 * 2048 * 1024));
  CHECK_THROWS_WITH_AS(
      with(1e6),
      "a GPU needs at least 1.31 MB of memory to multiply these matrices from the host's memory, "
      "and has 1.00 MB free",
      model::Refusal);
}

TEST_CASE("the largest sides that flags allow are cut, and counted, without overflow") {
  const Schedule tall = from_host({INT_MAX, 1, 1}, {2, 1}, 4096, false, kUnlimited);
  CHECK(tall.steps[1].size() == 262144);
  CHECK(tall.steps[1].back().rows.end() == INT_MAX);
  const Schedule deep = from_host({1, 1, INT_MAX}, {1, 1}, 4096, false, kUnlimited);
  CHECK(deep.steps[0].size() == 524288);
  CHECK(deep.steps[0].back().k.end() == INT_MAX);
  for (const double memory : {kUnlimited, 3e12}) {
    const Schedule wide = from_host({1, INT_MAX, 1}, {1, 1}, 4096, false, memory);
    CHECK(wide.steps[0].back().columns.end() == INT_MAX);
  }
  const Schedule s = schedule({INT_MAX, INT_MAX, 4096}, {16, 16}, 4096);
  double received = 0;
  for (int device = 0; device < 256; ++device) {
    received += static_cast<double>(predicted_load(s, device).bytes_received);
  }
  CHECK(received == doctest::Approx(4 * floats_that_travel(s.size, s.grid)));
}

namespace {

const Link kAtOnce{"at once", 0, kUnlimited, kUnlimited, kUnlimited, ""};
const Link kSlow{"slow", 5, 0.01, 0.02, 0.05, ""};

using ByStep = std::map<int, BusyTime>;

ByStep lane_of(const Timeline& timeline, int device, Lane lane) {
  ByStep steps;
  for (const BusyTime& span : timeline.times) {
    if (span.device == device && span.lane == lane) CHECK(steps.emplace(span.step, span).second);
  }
  return steps;
}

}  // namespace

TEST_CASE("panels travel when each device of a row and column has a place for one") {
  // Device 1 is slow, since its part of C is larger than the other's; the third panel waits for it.
  const Schedule s = schedule({64, 7, 400}, {1, 2}, 50);
  REQUIRE(s.N_of(1).size > s.N_of(0).size);
  const Timeline t = predict(s, kAtOnce, {1});
  const ByStep arrive = lane_of(t, 0, Lane::arrive), slower = lane_of(t, 1, Lane::multiply);
  constexpr int own = 4;
  CHECK_FALSE(arrive.contains(own - 1));
  CHECK(arrive.at(own).begin_ms == 0);
  CHECK(arrive.at(own + 1).begin_ms == 0);
  for (int step = own + 2; step < s.turns(); ++step) {
    CHECK(arrive.at(step).begin_ms == doctest::Approx(slower.at(step - 2).end_ms));
  }
}

TEST_CASE("the model's time of a product equals a calculation by hand") {
  const ProblemSize cube{512, 512, 512};
  const Link link{"slow", 5, 2, 1, 1, ""}, port{"host", 0, kUnlimited, 50, 60, ""};
  const Schedule square = schedule(cube, {2, 2}, 64);
  const Schedule host = from_host(cube, {2, 2}, 64, true, kUnlimited);
  const double multiplied_ms = 2.0 * 256 * 256 * 512 / 2 * 1e-9;
  // Half of the panels, with 256 rows and columns each, arrive.
  const double travel_ms = 5e-3 * square.turns() / 2 + 4e-6 * 512 * 256 / 2;
  const auto by_port = [&](int devices) {
    const Schedule s =
        from_host({1024, 1024 * devices, 1024}, {1, devices}, 1024, false, kUnlimited);
    return predict(s, port, {kUnlimited}).ms();
  };
  // Each launch but the first takes longer, and each step waits for the one that issues it.
  const Schedule four = schedule(cube, {1, 1}, 128),
                 unaligned = schedule({512, 511, 512}, {1, 1}, 256);
  const Rate launches{2, 0.01, 1e-6, 4e-6, 0.02};
  const Timeline launched = predict(four, kAtOnce, launches);
  for (const auto& [what, ms, expected] : std::vector<std::tuple<const char*, double, double>>{
           {"four launches", launched.ms(),
            predict(four, kAtOnce, {2}).ms() + 3 * (0.01 + 1e-6 * 512 * 512) + 4 * 0.02},
           {"what they take", launched.overhead_ms, 0.11},
           {"rows that are not aligned", predict(unaligned, kAtOnce, launches).ms(),
            predict(unaligned, kAtOnce, {2}).ms() + 0.01 + 4e-6 * 512 * 511 + 2 * 0.02},
           {"a link that takes no time", predict(square, kAtOnce, {2}).ms(), multiplied_ms},
           {"from a host that takes none", predict(host, kAtOnce, {2}).ms(), multiplied_ms},
           {"devices that take no time", predict(square, link, {kUnlimited}).ms(), travel_ms},
           {"two devices that share a port of the host", by_port(2), by_port(1) * 50 / 30},
           {"four devices, with two ports", by_port(4), by_port(2)},
           {"one device alone", predict(schedule({100, 100, 100}, {1, 1}, 30), kSlow, {0.5}).ms(),
            2e6 / 0.5 * 1e-9},
           {"nothing, at no speed", predict(schedule({9, 9, 0}, {1, 2}, 3), kSlow, {0}).ms(), 0},
           {"nothing from the host",
            predict(from_host({0, 9, 9}, {1, 1}, 30, true, kUnlimited), kSlow, {0}).ms(), 0}}) {
    CAPTURE(what);
    CHECK(ms == doctest::Approx(expected));
  }
  CHECK_FALSE(predict(four, kAtOnce, {100, 0.01}).is_told());
  CHECK(predict(four, kAtOnce, {1, 0.01}).is_told());
}

TEST_CASE("the hidden part of transfers is that during which the same device multiplies") {
  constexpr Lane in = Lane::arrive, work = Lane::multiply, out = Lane::leave;
  for (const auto& [spans, hidden] : std::vector<std::pair<std::vector<BusyTime>, double>>{
           {{}, 1},
           {{{0, work, 0, 0, 5}}, 1},
           {{{0, in, 0, 0, 2}, {0, work, 0, 2, 5}}, 0},
           {{{0, in, 0, 0, 4}, {0, work, 0, 3, 5}}, 0.25},
           {{{0, in, 0, 1, 2}, {0, work, 0, 0, 5}}, 1},
           {{{0, in, 0, 0, 2}, {1, work, 0, 0, 2}}, 0},
           {{{0, in, 0, 0, 2}, {0, work, 0, 0, 1}, {1, in, 0, 0, 6}, {1, work, 0, 0, 6}}, 7.0 / 8},
           // Several spans of a lane, one of which lies over several of the other's.
           {{{0, in, 0, 0, 1},
             {0, in, 0, 2, 8},
             {0, in, 0, 9, 10},
             {0, work, 0, 1, 3},
             {0, work, 0, 4, 5},
             {0, work, 0, 7, 10}},
            4.0 / 8},
           // Results that leave count like panels that arrive.
           {{{0, out, 0, 4, 8}, {0, work, 0, 0, 5}}, 0.25}}) {
    const Timeline timeline{spans};
    CHECK(timeline.hidden() == doctest::Approx(hidden));
  }
}

// By NCCL 2.28 between two H200.
TEST_CASE("over nvlink, a panel takes as long as a broadcast between two H200, within 12 %") {
  for (const auto& [megabytes, measured_ms] : std::vector<std::pair<int, double>>{
           {1, 0.0115}, {16, 0.059}, {64, 0.200}, {256, 0.740}, {1024, 2.9}}) {
    CAPTURE(megabytes);
    // A panel of A, 1024 columns of as many rows as make this size, on two devices side by side.
    const int rows = megabytes * 256;
    const Timeline t =
        predict(schedule({rows, 2, 2048}, {1, 2}, 4096), find_link("nvlink"), {kUnlimited});
    const ByStep arrive = lane_of(t, 0, Lane::arrive);
    REQUIRE(arrive.size() == 1);
    const double ms = arrive.at(1).end_ms - arrive.at(1).begin_ms;
    CAPTURE(ms);
    CHECK(ms > measured_ms / 1.12);
    CHECK(ms < measured_ms * 1.12);
  }
}

}  // namespace cluster
