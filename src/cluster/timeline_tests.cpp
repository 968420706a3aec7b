#include "cluster/timeline.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/refusal.h"

namespace cluster {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // ms
const Link kAtOnce{"at once", 0, kInfinite, kInfinite, ""};
const Link kSlow{"slow", 5, 0.01, 0.02, ""};

using ByStep = std::map<int, Span>;

ByStep lane_of(const Timeline& timeline, int device, Lane lane) {
  ByStep steps;
  for (const Span& span : timeline.spans) {
    if (span.device == device && span.lane == lane) CHECK(steps.emplace(span.step, span).second);
  }
  return steps;
}

bool is_one_after_the_other(const ByStep& lane) {
  double end = 0;
  for (const auto& [step, span] : lane) {
    if (span.begin_ms < end - kRounding || span.end_ms < span.begin_ms) return false;
    end = span.end_ms;
  }
  return true;
}

// Whether a panel is multiplied only when it is there, and comes only when the one before the last
// has left its place.
bool has_two_places(const ByStep& arrive, const ByStep& multiply) {
  for (const auto& [step, span] : multiply) {
    const auto came = arrive.find(step);
    if (came == arrive.end()) continue;
    if (span.begin_ms < came->second.end_ms - kRounding) return false;
    if (step < 2) continue;
    if (came->second.begin_ms < multiply.at(step - 2).end_ms - kRounding) return false;
  }
  return true;
}

std::vector<Link> links() {
  return {find_link("nvlink"), find_link("pcie4"), find_link("100GbE"), kSlow, kAtOnce};
}

Timeline timeline(const std::vector<Span>& spans) {
  return {spans};
}

// A device's multiplications alone.
double multiplied_ms(Part m, Part n, int K, double tflops) {
  return 2.0 * m.size * n.size * K / tflops * 1e-9;
}

}  // namespace

TEST_CASE("a panel is multiplied when it is there, and a device has places for two") {
  std::mt19937 random(20);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  for (int i = 0; i < 300; ++i) {
    const Grid grid{1 + upto(3), 1 + upto(3)};
    const Schedule s = schedule({1 + upto(900), 1 + upto(900), upto(900)}, grid, 1 + upto(300));
    const Link link = links()[upto(4)];
    const double tflops = std::pow(10.0, upto(4) - 3);
    const Timeline t = predict(s, link, tflops);
    for (int device = 0; device < grid.devices(); ++device) {
      const ByStep arrive = lane_of(t, device, Lane::arrive);
      const ByStep multiply = lane_of(t, device, Lane::multiply);
      CHECK(multiply.size() == s.steps.size());
      CHECK(is_one_after_the_other(arrive));
      CHECK(is_one_after_the_other(multiply));
      CHECK(has_two_places(arrive, multiply));
      CHECK(lane_of(t, device, Lane::leave).empty());
    }
  }
}

TEST_CASE("a broadcast begins on all devices of its row and column when each has a place for it") {
  // Device 1 is slow, since its part of C is larger than the other's; the third panel waits for it.
  const Schedule s = schedule({64, 7, 400}, {1, 2}, 50);
  REQUIRE(s.N_of(1).size > s.N_of(0).size);
  const Timeline t = predict(s, kAtOnce, 1);
  const ByStep arrive = lane_of(t, 0, Lane::arrive), slower = lane_of(t, 1, Lane::multiply);
  CHECK(arrive.at(0).begin_ms == 0);
  CHECK(arrive.at(1).begin_ms == 0);
  for (int step = 2; step < static_cast<int>(s.steps.size()); ++step) {
    CHECK(arrive.at(step).begin_ms == doctest::Approx(slower.at(step - 2).end_ms));
  }
}

TEST_CASE("over a link that takes no time, a product takes as long as its multiplications") {
  const Schedule s = schedule({512, 512, 512}, {2, 2}, 64);
  CHECK(
      predict(s, kAtOnce, 2).ms() == doctest::Approx(multiplied_ms(s.M_of(0), s.N_of(0), 512, 2)));
  const Streams host = streams({512, 512, 512}, {2, 2}, 64, true, kInfinite);
  CHECK(
      predict(host, kAtOnce, 2).ms() ==
      doctest::Approx(multiplied_ms(s.M_of(0), s.N_of(0), 512, 2)));
}

TEST_CASE("on devices that multiply in no time, a product takes as long as its panels travel") {
  const Link link{"slow", 5, 2, 1, ""};
  const Schedule s = schedule({512, 512, 512}, {2, 2}, 512);
  // Every panel has the same size in A and B: 256 rows or columns.
  const auto steps = static_cast<double>(s.steps.size());
  CHECK(predict(s, link, kInfinite).ms() == doctest::Approx(5e-3 * steps + 4e-6 * 512 * 512 / 2));
}

TEST_CASE("one device alone waits for nothing") {
  const Timeline t = predict(schedule({100, 100, 100}, {1, 1}, 30), kSlow, 0.5);
  CHECK(lane_of(t, 0, Lane::arrive).empty());
  CHECK(t.ms() == doctest::Approx(2e6 / 0.5 * 1e-9));
  CHECK(t.hidden() == 1);
}

TEST_CASE("an empty product takes no time, even at a speed of 0") {
  CHECK(predict(schedule({100, 100, 0}, {1, 2}, 30), kSlow, 0).ms() == 0);
  CHECK(predict(streams({0, 9, 9}, {1, 1}, 30, true, kInfinite), kSlow, 0).ms() == 0);
}

TEST_CASE("from the host: places for two panels of A, two blocks of C, and one pass's B") {
  std::mt19937 random(21);
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  int several_passes = 0;
  for (int i = 0; i < 300; ++i) {
    const Shape shape{upto(900), upto(900), upto(300)};
    const Grid grid{1 + upto(1), 1 + upto(1)};
    const Streams s =
        streams(shape, grid, 1 + upto(300), upto(1) == 1, upto(1) == 1 ? 2e6 : kInfinite);
    const Timeline t = predict(s, links()[upto(4)], std::pow(10.0, upto(4) - 3));
    for (int device = 0; device < grid.devices(); ++device) {
      const ByStep arrive = lane_of(t, device, Lane::arrive);
      const ByStep multiply = lane_of(t, device, Lane::multiply);
      const ByStep leave = lane_of(t, device, Lane::leave);
      CHECK(multiply.size() == s.steps[device].size());
      CHECK(arrive.size() == multiply.size());
      for (const ByStep& lane : {arrive, multiply, leave}) CHECK(is_one_after_the_other(lane));
      CHECK(has_two_places(arrive, multiply));
      bool are_free = true;
      std::vector<double> left;  // of the blocks, when they had left
      for (std::size_t j = 0; j < s.steps[device].size(); ++j) {
        const StreamStep& step = s.steps[device][j];
        const int index = static_cast<int>(j);
        const double begin = arrive.at(index).begin_ms + kRounding;
        if (step.first && step.block >= 2) are_free = are_free && begin >= left[step.block - 2];
        if (step.first && step.B_arrives && j > 0) {
          ++several_passes;
          are_free = are_free && begin >= multiply.at(index - 1).end_ms;
        }
        CHECK(leave.contains(index) == step.last);
        if (!step.last) continue;
        are_free = are_free && leave.at(index).begin_ms >= multiply.at(index).end_ms;
        left.push_back(leave.at(index).end_ms);
      }
      CHECK(are_free);
    }
  }
  CHECK(several_passes > 10);
}

TEST_CASE("hidden is the part of the journeys during which the same device multiplies") {
  const auto arrives = [](int device, double begin, double end) {
    return Span{device, Lane::arrive, 0, begin, end};
  };
  const auto multiplies = [](int device, double begin, double end) {
    return Span{device, Lane::multiply, 0, begin, end};
  };
  CHECK(timeline({}).hidden() == 1);
  CHECK(timeline({}).ms() == 0);
  CHECK(timeline({multiplies(0, 0, 5)}).hidden() == 1);
  CHECK(timeline({arrives(0, 0, 2), multiplies(0, 2, 5)}).hidden() == 0);
  CHECK(timeline({arrives(0, 0, 4), multiplies(0, 3, 5)}).hidden() == doctest::Approx(0.25));
  CHECK(timeline({arrives(0, 1, 2), multiplies(0, 0, 5)}).hidden() == 1);
  CHECK(timeline({arrives(0, 0, 2), multiplies(1, 0, 2)}).hidden() == 0);
  CHECK(
      timeline({arrives(0, 0, 2), multiplies(0, 0, 1), arrives(1, 0, 6), multiplies(1, 0, 6)})
          .hidden() == doctest::Approx(7.0 / 8));
  // Several spans of a lane, one of which lies over several of the other's.
  CHECK(
      timeline({arrives(0, 0, 1), arrives(0, 2, 8), arrives(0, 9, 10), multiplies(0, 1, 3),
                multiplies(0, 4, 5), multiplies(0, 7, 10)})
          .hidden() == doctest::Approx(4.0 / 8));
  // What leaves counts as what arrives.
  const Timeline leaves = timeline({{0, Lane::leave, 0, 4, 8}, multiplies(0, 0, 5)});
  CHECK(leaves.hidden() == doctest::Approx(0.25));
  CHECK(leaves.ms() == 8);
}

TEST_CASE("a link is found by its name, and the names are listed for any other") {
  for (const char* name : {"nvlink", "pcie4", "100GbE"})
    CHECK(find_link(name).name == std::string(name));
  CHECK(find_link("pcie4").gb_per_s < find_link("nvlink").gb_per_s);
  CHECK(find_link("100GbE").gb_per_s < find_link("pcie4").gb_per_s);
  for (const char* name : {"", "NVLINK", "nvlin", "nvlink2", "100gbe"}) {
    CHECK_THROWS_WITH_AS(
        find_link(name),
        ("--link " + std::string(name) + ": not a link; give nvlink, pcie4 or 100GbE").c_str(),
        model::Refusal);
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
        predict(schedule({rows, 2, 2048}, {1, 2}, 4096), find_link("nvlink"), kInfinite);
    const ByStep arrive = lane_of(t, 0, Lane::arrive);
    REQUIRE(arrive.size() == 2);
    const double ms = arrive.at(0).end_ms - arrive.at(0).begin_ms;
    CAPTURE(ms);
    CHECK(ms > measured_ms / 1.12);
    CHECK(ms < measured_ms * 1.12);
  }
}

}  // namespace cluster
